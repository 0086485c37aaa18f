// The decisions of a session. The pages that decide on items share them, so that a decision applies in all of them, and each can undo the
// last one.

import { Problem, sessionEvents } from './api.js';
import { Decisions } from './decisions.js';
import { count, toast, toastError } from './ui.js';

/** The requests of the decisions continue when the user opens another page. */
let desk = { session: /** @type {unknown} */ (null), decisions: new Decisions() };

addEventListener('beforeunload', (event) => {
  if (desk.decisions.pending > 0) event.preventDefault();
});
sessionEvents.addEventListener('signedout', () => {
  const { pending } = desk.decisions;
  desk.decisions.abandon(new Problem(401, {}));
  if (pending > 0) toast(`Your session ended before the server saved ${count(pending, 'decision')}.`, { bad: true });
});

/** @param {import('./api.js').Session} session returns the decisions of a session */
export function decisionsOf(session) {
  if (desk.session !== session) desk = { session, decisions: new Decisions() };
  return desk.decisions;
}

/** @param {import('./decisions.js').Action} action reports an action that changed nothing in some items */
export function report({ failures }) {
  const [{ reason }] = failures;
  if (reason instanceof Problem && reason.status === 401) return; // the handler of signedout reports these
  if (failures.length === 1) toastError(reason);
  else toastError(new Problem(0, { title: `${count(failures.length, 'item')} not changed`, detail: reason instanceof Error ? reason.message : String(reason) }));
}
