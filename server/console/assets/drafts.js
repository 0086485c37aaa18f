// The drafts of filters in this browser. They stay in the browser's storage until the user discards them, even after a logout.

import { href } from './router.js';
import { saveSetting, setting } from './ui.js';

/**
 * @typedef {object} Draft
 * @property {string} id
 * @property {string} property the property of the session that wrote the draft
 * @property {string} title
 * @property {Record<string, string>} values the parameters of the editor
 * @property {string} changed the time of the last change
 */

/** The maximum number of drafts. The oldest draft makes room for a new one. */
const maxDrafts = 50;

/** @returns {Draft[]} */
function all() {
  try {
    const list = JSON.parse(setting('drafts') || '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/**
 * Returns the drafts of a property, the latest first.
 * @param {string} property
 */
export function draftsOf(property) {
  return all().filter((draft) => draft.property === property);
}

/** @param {Draft} draft */
export function saveDraft(draft) {
  saveSetting('drafts', JSON.stringify([draft, ...all().filter(({ id }) => id !== draft.id)].slice(0, maxDrafts)));
}

/** @param {string} id */
export function discardDraft(id) {
  saveSetting('drafts', JSON.stringify(all().filter((draft) => draft.id !== id)));
}

/** @param {Draft} draft returns the URL that opens the draft */
export function draftURL(draft) {
  return href('filters/edit', { ...draft.values, draft: draft.id });
}
