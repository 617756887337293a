// Package inbox delivers to requesters the messages of others in their threads. It resumes where
// each requester was.
//
// An Inbox follows the feed of the store, so it misses nothing and depends on no clock. It looks at
// each changed thread, and sends the messages that its requester has not got yet. It sends to each
// requester in order. A requester that accepts nothing does not delay the others.
//
// The Inbox stores one position in the feed, up to which all requesters have everything, and for
// each requester the last message of its open threads. A requester that is behind has a position of
// its own. The Inbox writes every few seconds. After a crash, requesters get the messages since
// then again, with the same refs. The memory of an Inbox grows with the requesters, and with the
// threads that have something to send.
//
// # Who uses it
//
//   - MQTT has an Inbox for its requesters.
//   - MESH and Agent Mail use Follow. They store for each of their tasks what they have sent.
//   - Webhooks follow the feed from a position of their own. They store pending notifications, at
//     most 256 for each executor, and try each eight times within an hour.
//   - The executors and states of MQTT use Events. At each start they publish the present state.
//   - MCP, the console and HTTP follow the events of one actor directly. After a restart of the
//     exchange their clients get a reset and read again.
//
// # Guarantees
//
// The Inbox compares positions and does not count with them, and no time decides what a requester
// gets. It stores requesters first and the common position after them, so that the position never
// passes a requester that is behind. It forgets a requester after seven silent days without an open
// thread. It has no other limit, because each requester has a request in the store. A requester
// gets every message at least once, in the order of its thread. Messages of different threads can
// change places.
//
// Offers are not in the feed. Channels that deliver offers use Events.
package inbox
