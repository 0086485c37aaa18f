// Package webhooks sends the changes of listings to the URLs of webhooks. A delivery is signed by the Standard Webhooks specification.
//
// # Invariants
//
//   - Each webhook has its own worker. The change feed is the queue: a worker holds one batch in memory, and reads it again before each
//     attempt, so that no attempt sends what an item no longer contains.
//   - Deliveries of a webhook are in order, and at least once: the cursor in the library moves only after the receiver has accepted a batch.
//   - A test moves no cursor. A replay moves it back, and never forward.
//   - Only public fields leave the server.
//   - A connection goes only to an address that the Policy permits, whatever a name resolves to. No response is shown to anyone.
//
// docs/connect-an-app.md describes the deliveries for receivers.
//
// This package may import feed, library, query and item.
package webhooks
