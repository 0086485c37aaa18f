// Elements that all pages share: empty and error states, short messages, dialogs, and functions that format values.

import { may, Problem } from './api.js';
import { button, fill, h, icon } from './dom.js';

const counts = new Intl.NumberFormat('en');
const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });

/** @param {number} n */
export function number(n) {
  return counts.format(n);
}

/**
 * Returns a count with its noun, such as "1 item" or "2,000 items".
 * @param {number} n
 * @param {string} noun
 */
export function count(n, noun) {
  return `${number(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** @param {number} n */
export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
  return `${n >= 10 || unit === 0 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

/** @param {number} ms */
export function duration(ms) {
  return ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * Formats a timestamp of the API in the time zone of the browser. It does not change other texts.
 * @param {unknown} text
 * @param {boolean} [short] whether to omit the time of day
 */
export function date(text, short) {
  const value = String(text ?? '');
  const parsed = /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : null;
  if (!parsed || Number.isNaN(parsed.getTime()) || parsed.getFullYear() < 1000) return value.startsWith('0001-') ? '' : value;
  return (short ? days : dates).format(parsed);
}

/** The approval states with their names. @type {Record<string, string>} */
export const states = { app: 'Approved', pen: 'Pending', rej: 'Rejected' };

/**
 * Returns a small label with a color and a text.
 * @param {string} kind a class of badges: app, pen, rej, good, bad, plain
 * @param {string} text
 */
export function badge(kind, text) {
  return h('span', { class: `badge ${kind}` }, text);
}

/** @param {string} status */
export function stateBadge(status) {
  return badge(status in states ? status : 'plain', states[status] ?? status);
}

/**
 * Returns the content for a page, or for a part of a page, that has nothing to show.
 * @param {string} title
 * @param {import('./dom.js').Children} [text]
 * @param {...import('./dom.js').Child} actions
 */
export function empty(title, text, ...actions) {
  return h('div', { class: 'state' }, h('h2', null, title), h('p', null, ...(Array.isArray(text) ? text : [text])),
    actions.length > 0 && h('div', { class: 'row' }, ...actions));
}

/**
 * Returns why a session may not use a part of the console, or '' if it may.
 * @param {import('./api.js').Session} session
 * @param {string} what
 * @param {...import('./api.js').Action} actions the session needs one of these
 */
export function refusal(session, what, ...actions) {
  if (may(session, ...actions)) return '';
  return may(session) ? `${what} needs a token that allows the action ${actions.join(' or ')}` : `${what} needs a READ-WRITE token`;
}

/**
 * Returns the content of a page, or of a part of a page, that the session may not use.
 * @param {string} reason
 */
export function refused(reason) {
  return empty(reason, 'Your access token does not allow this. Log out, and log in with such a token.');
}

/**
 * Returns the content of a page whose request failed.
 * @param {unknown} err
 * @param {() => void} [again]
 */
export function failure(err, again) {
  const { title, text } = explainError(err);
  return h('div', { class: 'state bad', role: 'alert' }, icon('warning'), h('h2', null, title), h('p', null, text),
    again && button({ text: 'Try again', onclick: again }));
}

/**
 * Returns a title and a text that describe an error.
 * @param {unknown} err
 */
export function explainError(err) {
  if (err instanceof Problem) {
    const title = err.type === 'class-refused' ? 'Your access token does not allow this' : err.title;
    return { title, text: sentence(err.message) };
  }
  return { title: 'The console has an error', text: sentence(err instanceof Error ? err.message : String(err)) };
}

/** @param {string} text */
function sentence(text) {
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}

/** Returns a placeholder for rows that are not loaded yet. @param {number} rows */
export function skeleton(rows) {
  return h('div', { class: 'skeleton', 'aria-hidden': 'true' }, Array.from({ length: rows }, () => h('div', null)));
}

const live = h('div', { class: 'hidden', role: 'status', 'aria-live': 'polite' });
const toasts = h('div', { class: 'toasts', role: 'region', 'aria-label': 'Messages' });

/** Adds the containers of short messages to the page. */
export function mountMessages() {
  document.body.append(toasts, live);
}

/**
 * Makes screen readers read a text.
 * @param {string} text
 */
export function announce(text) {
  // Screen readers do not read a text again if it has not changed.
  live.textContent = '';
  requestAnimationFrame(() => { live.textContent = text; });
}

/**
 * Shows a message for some seconds. A message stays longer while it has the focus or is under the pointer. An error stays until the user
 * closes it.
 * @param {string} text
 * @param {{bad?: boolean, action?: {text: string, key?: string, run: () => void}}} [options]
 */
export function toast(text, { bad, action } = {}) {
  const close = () => element.remove();
  const element = h('div', { class: bad ? 'toast bad' : 'toast' }, h('span', null, text),
    action && button({ text: action.text, key: action.key, onclick: () => { close(); action.run(); } }),
    button({ icon: 'close', text: 'Close the message', only: true, kind: 'quiet', onclick: close }));
  // A modal dialog covers the rest of the page, so the message must be inside the dialog.
  const modal = [...document.querySelectorAll('dialog[open]')].at(-1);
  if (modal) modal.append(element);
  else toasts.replaceChildren(element);
  announce(text);
  const expire = () => {
    if (element.matches(':hover, :focus-within')) setTimeout(expire, 2000);
    else close();
  };
  if (!bad) setTimeout(expire, action ? 12000 : 5000);
}

/**
 * Shows an error as a message.
 * @param {unknown} err
 */
export function toastError(err) {
  if (err instanceof DOMException && err.name === 'AbortError') return;
  const { title, text } = explainError(err);
  toast(`${title}: ${text}`, { bad: true });
}

/**
 * Copies a text to the clipboard.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what}`);
  } catch {
    toast('The browser blocked copying. Select the text, and copy it yourself.', { bad: true });
  }
}

/**
 * Opens a modal dialog with a title. The user can close it with Escape, with its button, or with a click outside.
 * @param {string} title
 * @param {{class?: string, closed?: () => void}} options
 * @param {...import('./dom.js').Children} content
 */
export function openDialog(title, { class: className, closed }, ...content) {
  const heading = h('h2', { id: 'dialog-title' }, title);
  const dialog = h('dialog', { class: ['dialog', className].filter(Boolean).join(' '), 'aria-labelledby': 'dialog-title' },
    h('header', null, heading, button({ icon: 'close', text: 'Close', only: true, kind: 'quiet', key: 'Escape', onclick: () => dialog.close() })),
    ...content);
  dialog.addEventListener('close', () => {
    dialog.remove(); // the browser has already returned the focus to the element that had it before
    closed?.();
  });
  dialog.addEventListener('mousedown', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Returns tabs with panels (the ARIA tabs pattern). A panel is created when the user first opens it.
 * @param {string} label
 * @param {{id: string, text: string, render: () => HTMLElement}[]} list
 * @param {string} first
 * @param {(id: string) => void} [changed]
 */
export function tabs(label, list, first, changed) {
  const panel = h('div', { class: 'tabpanel', role: 'tabpanel', tabindex: '0', id: 'tabpanel' });
  const buttons = list.map((tab) => h('button', {
    type: 'button', role: 'tab', id: `tab-${tab.id}`, 'aria-controls': 'tabpanel', onclick: () => show(tab.id),
  }, tab.text));
  const bar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label, onkeydown: (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = buttons.findIndex((b) => b.getAttribute('aria-selected') === 'true');
    const next = (at + step + list.length) % list.length;
    show(list[next].id);
    buttons[next].focus();
  } }, buttons);
  /** @param {string} id @param {boolean} [initial] */
  const show = (id, initial) => {
    const at = Math.max(0, list.findIndex((t) => t.id === id));
    buttons.forEach((b, i) => {
      b.setAttribute('aria-selected', String(i === at));
      b.tabIndex = i === at ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', `tab-${list[at].id}`);
    fill(panel, list[at].render());
    if (!initial) changed?.(list[at].id);
  };
  show(first, true);
  return { element: h('div', { class: 'tabset' }, bar, panel), show };
}

/**
 * Returns a setting that is stored in this browser.
 * @param {string} name
 */
export function setting(name) {
  try {
    return localStorage.getItem(`vitrine.${name}`) ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
export function saveSetting(name, value) {
  try {
    localStorage.setItem(`vitrine.${name}`, value);
  } catch {
    // The browser does not allow storage, so the setting is lost when the user closes the page.
  }
}
