// The dialogs that set and remove tags. They know the tags of the property, so that a typing mistake does not become a new tag.

import { countItems, get } from './api.js';
import { button, debounced, fill, h, uniqueID } from './dom.js';
import { escapeTerm, splitTag, tagText } from './item.js';
import { count, number, openDialog, skeleton, toastError } from './ui.js';

/** @typedef {{namespace: string, key: string}} Tag */

/** The number of tags that a dialog suggests. */
const suggested = 100;

let last = '';

/**
 * Asks for a tag. It suggests the most frequent tags, and asks again before it chooses a tag that no item has.
 * @param {string} title
 * @param {{chosen: (tag: Tag) => void, closed?: () => void}} options
 */
export function chooseTag(title, { chosen, closed }) {
  const options = h('datalist', { id: uniqueID() });
  const input = h('input', { type: 'text', id: 'tagname', value: last, placeholder: 'summer', spellcheck: 'false', autocomplete: 'off', list: options.id, 'aria-describedby': 'taghelp', oninput: () => {
    isNew('');
    suggest();
  } });
  const help = h('p', { class: 'muted', id: 'taghelp', role: 'status' });
  const set = button({ text: 'Set the tag', kind: 'primary', type: 'submit' });
  let confirmed = '';
  /** @param {string} text a tag that no item has, or '' */
  const isNew = (text) => {
    confirmed = text;
    fill(help, text ? `No item has the tag ${text} yet. Check the spelling, or create the tag.` : 'Type a key of the namespace marketer_tags, or namespace:key.');
    fill(set, h('span', null, text ? 'Create the tag' : 'Set the tag'));
  };
  isNew('');
  const submit = async () => {
    const text = input.value.trim();
    if (text === '') return;
    const tag = splitTag(text);
    if (confirmed !== text) {
      const items = await countItems(`tags.${escapeTerm(tag.namespace)}.key:${escapeTerm(tag.key)}`);
      if (text !== input.value.trim()) return;
      if (items === 0) {
        isNew(text);
        return;
      }
    }
    last = text;
    dialog.close();
    chosen(tag);
  };
  const dialog = openDialog(title, { closed },
    h('form', { class: 'dialogform', onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); void submit().catch(toastError); } },
      h('label', { for: 'tagname' }, 'Tag'), input, options, help,
      h('div', { class: 'row end' }, button({ text: 'Cancel', onclick: () => dialog.close() }), set)));
  input.focus();
  input.select();
  const suggest = debounced(150, () => {
    const { namespace, key } = splitTag(input.value.trim());
    tagsOf('*:*', input.value.trim() && `${namespace}:${key}`).then((tags) => fill(options, tags.map(({ tag, count: n }) => h('option', { value: tagText(tag) }, count(n, 'item')))), toastError);
  });
  suggest();
}

/**
 * Asks for one of the tags that items have.
 * @param {string} title
 * @param {number[]} ids
 * @param {(tag: Tag) => void} chosen
 */
export function chooseTagOf(title, ids, chosen) {
  const list = h('div', { class: 'chips' }, skeleton(2));
  const dialog = openDialog(title, {}, h('div', { class: 'dialogform' }, list, h('p', { class: 'muted' }, 'A tag that a manifest sets stays until the manifest changes.')));
  tagsOf(`id:(${ids.slice(0, 500).join(',')})`).then((tags) => fill(list, tags.length === 0 && 'These items have no tags.', tags.map(({ tag, count: n }) => button({
    text: `${tagText(tag)} (${number(n)})`, onclick: () => {
      dialog.close();
      chosen(tag);
    },
  }))), toastError);
}

/**
 * Returns the most frequent tags of the items that match a query.
 * @param {string} q
 * @param {string} [prefix] the beginning of the tags, as namespace:key
 * @returns {Promise<{tag: Tag, count: number}[]>}
 */
async function tagsOf(q, prefix) {
  const { data } = await get('v2/content/facets', { field: 'tags', q, prefix, size: suggested });
  return data.values.map((/** @type {any} */ { value, count }) => ({ tag: splitTag(value), count }));
}
