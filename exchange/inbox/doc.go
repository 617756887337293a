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
// # What the channels did before
//
// Seven channels tell somebody of threads, and each had its own code for it:
//
//   - MQTT followed the events of each requester with one goroutine. It stored, by one sync for
//     each requester, a time and the last message of 128 threads. After a crash it repeated
//     five seconds, and after a failure it waited one second. Beyond 10,000 requesters it sent
//     nothing, without a word.
//   - MESH followed the events of all threads, and stores a document for each task of a peer.
//     After a restart it looks at each unanswered task and repeats one report of progress. It
//     waits one second after a failure. Its bound is the number of tasks. It uses Follow now.
//   - Agent Mail followed the events of all threads, and stores in its own file how many
//     messages of each task it has told, together with what it has to send. It repeats
//     nothing, waits one second after a failure, and looks at each task after a restart. It
//     uses Follow now.
//   - Webhooks follow the events of all threads and store no position. They store the notices
//     that wait, at most 256 for each executor, and try each eight times within an hour.
//   - MCP follows what one actor sees, and lists the 50 threads that changed last. A client
//     reads again after a restart. It waits one to 30 seconds after a failure.
//   - The console and HTTP follow what one actor sees from the event that the client names. The
//     number of an event is one of this run of the exchange: after a restart, or after 1,024
//     events, a client gets a reset and reads again. More than 256 waiting events end a stream.
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
