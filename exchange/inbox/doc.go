// Package inbox tells requesters what others say in their threads, from where each requester
// was.
//
// An Inbox follows the feed of the store, so it misses nothing and no clock matters. It looks
// at each thread that changed, and sends the messages that its requester has not got yet. It
// sends to each requester in order; a requester that takes nothing holds up nobody else.
//
// The Inbox stores one position in the feed, up to which all requesters have everything, and
// for each requester the last message of its open threads. A requester that is behind has a
// position of its own. The Inbox writes every few seconds; after a crash, requesters get
// again the messages since then, with the same references. The memory of an Inbox grows with
// the requesters, and with the threads of which it still has something to send.
//
// # Who uses it
//
//   - MQTT has an Inbox for its requesters.
//   - MESH and Agent Mail use Follow. They store for each of their tasks what they have sent.
//   - Webhooks, and the executors and states of MQTT, use Events. Webhooks store the notices
//     that wait, at most 256 for each executor, and try each eight times within an hour.
//   - MCP, the console and HTTP follow the events of one actor by themselves. After a restart of
//     the exchange their clients get a reset and read again.
//
// # What an inbox does
//
// Positions are compared and never counted, and no time decides what a requester gets. The
// Inbox stores requesters first and the common position after them, so that the position never
// passes a requester that is behind. It forgets a requester after seven silent days without an
// open thread. It has no other bound, because each requester has a request in the store. A
// requester gets every message at least once, in the order of its thread; messages of different
// threads can change places.
//
// Offers are not in the feed. Channels that pass on offers follow events, by Events.
package inbox
