// The dialog that asks why items are rejected.

import { button, h, labelled, uniqueID } from './dom.js';
import { openDialog } from './ui.js';

/** The reasons that the user has typed, newest first. The page forgets them when it is closed. @type {string[]} */
let recent = [];

/** The number of reasons that the dialog suggests. */
const suggested = 20;

/**
 * Asks for a reason, and does nothing if the user gives none.
 * @param {string} order the decision, such as Reject 2 items
 * @param {{chosen: (reason: string) => void, closed?: () => void}} options
 */
export function askReason(order, { chosen, closed }) {
  const options = h('datalist', { id: uniqueID() }, recent.map((reason) => h('option', { value: reason })));
  const input = h('input', { type: 'text', required: true, pattern: '.*\\S.*', title: 'Type at least one character', maxlength: '500', autocomplete: 'off', list: options.id, placeholder: 'The logo of a competitor is visible' });
  const dialog = openDialog(order, { closed },
    h('form', { class: 'dialogform', onsubmit: (/** @type {Event} */ e) => {
      e.preventDefault();
      const reason = input.value.trim();
      recent = [reason, ...recent.filter((r) => r !== reason)].slice(0, suggested);
      dialog.close();
      chosen(reason);
    } }, labelled('Reason', input), options, h('p', { class: 'muted' }, 'The history of the item shows the reason.'),
    h('div', { class: 'row end' }, button({ text: 'Cancel', onclick: () => dialog.close() }), button({ text: order, kind: 'danger', type: 'submit' }))));
  input.focus();
}
