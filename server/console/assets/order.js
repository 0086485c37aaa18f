// The control for the order of a list.

import { h, labelled } from './dom.js';

/** @type {[value: string, text: string][]} */
const common = [
  ['created_on:desc', 'Newest first'], ['created_on:asc', 'Oldest first'], ['_score:desc', 'Best match'], ['random', 'Random'],
];

/**
 * A select with the common orders, and a text field for any other.
 * @param {{value: string, standard: string, changed: (order: string) => void}} options standard is the text for no order
 */
export function orderControl({ value, standard, changed }) {
  const custom = h('input', { type: 'text', class: 'mono', 'aria-label': 'Order as fields', placeholder: 'field:asc,field:desc', spellcheck: 'false',
    onchange: () => changed(custom.value.trim()) });
  const choice = h('select', { onchange: () => {
    custom.hidden = choice.value !== '?';
    if (choice.value === '?') custom.focus();
    else changed(choice.value);
  } }, [['', standard], ...common, ['?', 'Other…']].map(([v, text]) => h('option', { value: v }, text)));
  const set = (/** @type {string} */ order) => {
    const known = order === '' || common.some(([v]) => v === order);
    choice.value = known ? order : '?';
    custom.value = known ? '' : order;
    custom.hidden = known;
  };
  set(value);
  const field = labelled('Order', choice);
  field.append(custom);
  return { element: field, set };
}
