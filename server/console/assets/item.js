// Presents an item of the API: its tile, its picture and its parts.

import { fill, foreignURL, h, icon } from './dom.js';
import { setting, states } from './ui.js';

/** @typedef {Record<string, any>} Item an item as the API returns it */

/** Whether pictures and videos are loaded from their sites. */
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
 * The URL of the picture of an item, or ''.
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
 * Describes the picture of an item for users who do not see it: the type of the item, and its state if it is approved. The marks show the
 * other states.
 * @param {Item} item
 */
export function describe(item) {
  return [typeOf(item), item.approval_status === 'app' && states.app].filter(Boolean).join(', ');
}

/**
 * The picture of an item. An item without a picture shows a colour that depends on the item and, if it is a text, its words.
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
  const missing = () => fill(box, h('span', { class: 'placeholder' }, icon(type === 'video' ? 'play' : 'image')));
  const src = picturesOn() ? pictureURL(item, size) : '';
  if (!src) {
    missing();
    return box;
  }
  const img = h('img', { alt: '', loading: 'lazy', decoding: 'async', referrerpolicy: 'no-referrer', draggable: 'false', onerror: missing });
  img.src = src;
  fill(box, img, type === 'video' && h('span', { class: 'playmark' }, icon('play')));
  return box;
}

/**
 * The marks over a picture, if there are any: the state of the item unless it is approved, and whether the item is featured.
 * @param {Item} item
 */
export function marks(item) {
  const state = item.approval_status;
  return (state !== 'app' || item.featured) && h('div', { class: 'marks' },
    state !== 'app' && h('span', { class: `badge ${state in states ? state : 'plain'}` }, states[state] ?? state),
    item.featured && h('span', { class: 'badge star', title: 'Featured' }, icon('star'), h('span', { class: 'hidden' }, 'Featured')));
}

/**
 * The content of a tile: picture, marks, author and text. Together they are the accessible name of the tile.
 * @param {Item} item
 */
export function tileContent(item) {
  const text = textOf(item);
  return [h('span', { class: 'hidden' }, describe(item)), picture(item, 'medium_image'), marks(item), h('div', { class: 'caption' },
    h('bdi', { class: 'author' }, authorOf(item)),
    typeOf(item) === 'text' ? h('span', { class: 'words' }, String(item.content?.social_platform ?? '')) :
      h('span', { class: 'words', dir: 'auto' }, text.length > 200 ? `${text.slice(0, 200)}…` : text))];
}

/**
 * Parses a tag: a key of the namespace marketer_tags, or namespace:key. A namespace can contain a colon, but a key cannot.
 * @param {string} text
 * @returns {{namespace: string, key: string}}
 */
export function splitTag(text) {
  const at = text.lastIndexOf(':');
  return at < 0 ? { namespace: 'marketer_tags', key: text } : { namespace: text.slice(0, at), key: text.slice(at + 1) };
}

/**
 * The tags of an item as pairs.
 * @param {Item} item
 * @returns {{namespace: string, key: string}[]}
 */
export function tagsOf(item) {
  return Object.entries(item.tags ?? {}).flatMap(([namespace, keys]) => (Array.isArray(keys) ? keys : [])
    .map((k) => ({ namespace, key: String(typeof k === 'object' && k ? k.key : k) })));
}
