// Shows parts of an item of the API, such as its tile and its picture.

import { fill, foreignURL, h, icon } from './dom.js';
import { date, setting, states } from './ui.js';

/** @typedef {Record<string, any>} Item an item as the API returns it */

/** Returns whether the browser loads pictures and videos from their sites. */
export function picturesOn() {
  return setting('pictures') !== 'off';
}

/** @param {Item} item @returns {string} */
export function textOf(item) {
  return String(item.content?.text ?? '');
}

/** @param {Item} item @returns {string} */
export function typeOf(item) {
  return String(item.content?.content_type ?? 'text');
}

/** @param {Item} item @returns {string} */
export function authorOf(item) {
  const author = item.content?.author;
  return String(author?.username || author?.profile?.name || 'unknown');
}

/**
 * Returns the URL of the picture of an item, or ''.
 * @param {Item} item
 * @param {'small_image' | 'medium_image' | 'large_image'} size
 */
export function pictureURL(item, size) {
  const media = item.content?.media;
  for (const url of [media?.media_urls?.[size], media?.media_urls?.medium_image, typeOf(item) === 'image' && media?.original_url]) {
    if (foreignURL(url)) return String(url);
  }
  return '';
}

/**
 * Describes the picture of an item for users who do not see the picture. The description contains the type of the item, and its approval
 * status if it is approved. For items with another status, the marks show the status.
 * @param {Item} item
 */
export function describe(item) {
  return [typeOf(item), item.approval_status === 'app' && states.app].filter(Boolean).join(', ');
}

/**
 * Returns the picture of an item. Without a picture, it returns a color that depends on the item and, for a text item, the text.
 * @param {Item} item
 * @param {'small_image' | 'medium_image' | 'large_image'} size
 */
export function picture(item, size) {
  const type = typeOf(item);
  const box = h('div', { class: `picture ${type}` });
  box.style.setProperty('--hue', String((Number(item.id) * 47) % 360));
  const words = textOf(item);
  if (type === 'text') {
    box.append(h('p', { dir: 'auto' }, words.length > 400 ? `${words.slice(0, 400)}…` : words));
    return box;
  }
  const missing = (/** @type {string} */ words) => fill(box, h('span', { class: 'placeholder' }, icon(type === 'video' ? 'play' : 'image'), h('span', null, words)));
  const src = picturesOn() ? pictureURL(item, size) : '';
  if (!src) {
    missing(picturesOn() ? 'No picture' : '');
    return box;
  }
  const img = h('img', { alt: '', loading: 'lazy', decoding: 'async', referrerpolicy: 'no-referrer', draggable: 'false', onerror: () => missing('The picture cannot be loaded') });
  img.src = src;
  fill(box, img, type === 'video' && h('span', { class: 'playmark' }, icon('play')));
  return box;
}

/**
 * Returns the marks over a picture, if there are any: the approval status of an item that is not approved, and whether the item is
 * featured.
 * @param {Item} item
 */
export function marks(item) {
  const state = item.approval_status;
  return (state !== 'app' || item.featured) && h('div', { class: 'marks' },
    state !== 'app' && h('span', { class: `badge ${state in states ? state : 'plain'}` }, states[state] ?? state),
    item.featured && h('span', { class: 'badge star', title: 'Featured' }, icon('star'), h('span', { class: 'hidden' }, 'Featured')));
}

/**
 * Returns the content of a tile: picture, marks, author and text. Together, they are the accessible name of the tile.
 * @param {Item} item
 */
export function tileContent(item) {
  const text = textOf(item);
  const platform = String(item.content?.social_platform ?? '');
  const facts = setting('facts') === 'on';
  return [h('span', { class: 'hidden' }, describe(item)), picture(item, 'medium_image'), marks(item), h('div', { class: 'caption' },
    h('bdi', { class: 'author' }, authorOf(item)),
    facts && h('span', { class: 'origin' }, [platform, date(item.created_on, true)].filter(Boolean).join(' · ')),
    typeOf(item) === 'text' ? !facts && h('span', { class: 'words' }, platform) :
      h('span', { class: 'words', dir: 'auto' }, text.length > 200 ? `${text.slice(0, 200)}…` : text))];
}

/**
 * Parses a tag in the form key (in the namespace marketer_tags) or namespace:key. A namespace can contain a colon, but a key cannot.
 * @param {string} text
 * @returns {{namespace: string, key: string}}
 */
export function splitTag(text) {
  const at = text.lastIndexOf(':');
  return at < 0 ? { namespace: 'marketer_tags', key: text } : { namespace: text.slice(0, at), key: text.slice(at + 1) };
}

/**
 * Returns a tag as splitTag parses it.
 * @param {{namespace: string, key: string}} tag
 */
export function tagText({ namespace, key }) {
  return namespace === 'marketer_tags' ? key : `${namespace}:${key}`;
}

/**
 * Escapes a text so that a query reads it as one term.
 * @param {string} text
 */
export function escapeTerm(text) {
  return text.replace(/[\s+\-!(){}[\]^"~*?:\\/&|<>=,]/g, '\\$&');
}

/**
 * Returns the tags of an item as pairs of namespace and key.
 * @param {Item} item
 * @returns {{namespace: string, key: string}[]}
 */
export function tagsOf(item) {
  return Object.entries(item.tags ?? {}).flatMap(([namespace, keys]) => (Array.isArray(keys) ? keys : [])
    .map((k) => ({ namespace, key: String(typeof k === 'object' && k ? k.key : k) })));
}
