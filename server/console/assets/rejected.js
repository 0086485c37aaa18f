// The status of the property, and in it the objects whose manifests the server rejects. Pages show these where a user looks for the object.

import { get } from './api.js';
import { h } from './dom.js';
import { badge, number } from './ui.js';

/** @typedef {{kind: string, namespace: string, name: string, reason: string, message: string}} Rejection */

/** Dispatches `changed` after the status has been loaded. */
export const rejectionEvents = new EventTarget();

/** @type {{time: number, data: Promise<any>}} */
let latest = { time: -Infinity, data: Promise.resolve({}) };

/** Whether the property requires a reason for each rejection of an item; false until the status is loaded. */
export let reasonRequired = false;

/** Returns the status of the property. The function requests it at most every ten seconds, unless `fresh` is true. */
export function propertyStatus(fresh = false) {
  if (fresh || performance.now() - latest.time >= 10_000) {
    latest = { time: performance.now(), data: get('v2/content/status').then(({ data }) => {
      reasonRequired = data.rejection_reason === 'Required';
      return data;
    }) };
    void rejections().then(() => rejectionEvents.dispatchEvent(new Event('changed')));
  }
  return latest.data;
}

/**
 * Returns the rejected objects, or none if they are unknown or the session may not see them.
 * @returns {Promise<Rejection[]>}
 */
export function rejections() {
  return propertyStatus().then(({ rejected }) => rejected ?? [], () => []);
}

/** Forgets the status that a session has seen, because the session has ended. */
export function forgetRejections() {
  reasonRequired = false;
  latest = { time: -Infinity, data: Promise.resolve({}) };
}

/** @param {Rejection} r returns the object as the API names it in managed_by */
function nameOf({ kind, namespace, name }) {
  return `${kind} ${[namespace, name].filter(Boolean).join('/')}`;
}

/**
 * Returns the note that the manifest of a definition is rejected, or null if it is not.
 * @param {unknown} managedBy the owner of the definition, as in managed_by
 */
export async function rejectionNote(managedBy) {
  const found = (await rejections()).find((r) => nameOf(r) === managedBy);
  return found ? h('details', { class: 'rejection' }, h('summary', null, badge('bad', 'Rejected change'), ` ${found.reason}`), message(found)) : null;
}

/** @param {Rejection} r */
function message(r) {
  return h('pre', { class: 'code', tabindex: '0' }, String(r.message));
}

/**
 * Returns the section that lists rejected objects.
 * @param {Rejection[]} list
 */
export function rejectionList(list) {
  return h('section', { class: 'block' }, h('h2', null, 'Rejected objects ', list.length > 0 && badge('bad', number(list.length))),
    list.length === 0 ? h('p', { class: 'muted' }, badge('good', 'None'), ' No object of this property is rejected.')
      : h('ul', { class: 'rejected' }, list.map((r) => h('li', null, h('div', { class: 'row' }, h('strong', null, nameOf(r)), badge('bad', String(r.reason))), message(r)))));
}
