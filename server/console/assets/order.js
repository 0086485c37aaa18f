// The control for the order of a list.

import { fill, h, labelled } from './dom.js';

/** The name of the order by score. This is the default order of a query. */
export const bestMatch = 'Best match';

/** @type {[value: string, text: string][]} */
const common = [
  ['created_on:desc', 'Newest first'], ['created_on:asc', 'Oldest first'], ['_score:desc', bestMatch], ['random', 'Random'],
];

/** The order that only sessions with private fields can use. @type {[value: string, text: string]} */
const byChange = ['last_modified:desc', 'Last changed first'];

/**
 * Returns a select with the common orders, and a text field for any other order.
 * @param {{value: string, standard: string, private: boolean, changed: (order: string) => void}} options `standard` is the
 *   text of the default order, which `set` can change; `private` says whether the session can sort by private fields
 */
export function orderControl({ value, standard, private: all, changed }) {
  const orders = all ? [...common, byChange] : common;
  const custom = h('input', { type: 'text', class: 'mono', 'aria-label': 'Fields to sort by', placeholder: 'field:asc,field:desc', spellcheck: 'false',
    onchange: () => changed(custom.value.trim()) });
  const choice = h('select', { onchange: () => {
    custom.hidden = choice.value !== '?';
    if (choice.value === '?') custom.focus();
    else changed(choice.value);
  } });
  let shown = value;
  const set = (/** @type {string} */ order, text = standard) => {
    const other = choice.value === '?' && order === shown; // the user wants to type an order
    shown = order;
    const listed = orders.filter(([, name]) => name !== text);
    fill(choice, [['', text], ...listed, ['?', 'Other…']].map(([v, name]) => h('option', { value: v }, name)));
    const same = orders.find(([v]) => v === order)?.[1] === text;
    const known = order === '' || same || listed.some(([v]) => v === order);
    choice.value = other || !known ? '?' : same ? '' : order;
    if (!other) custom.value = known ? '' : order;
    custom.hidden = choice.value !== '?';
  };
  set(value);
  const field = labelled('Order', choice);
  field.append(custom);
  return { element: field, set };
}
