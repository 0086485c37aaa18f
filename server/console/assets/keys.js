// Keyboard shortcuts, and an overlay that lists them.

import { h } from './dom.js';
import { openDialog, saveSetting, setting } from './ui.js';

/**
 * A shortcut. `keys` is one key, or two keys that the user presses one after the other, such as "g w". Only a shortcut that `repeats` runs
 * again while the user holds the key.
 * @typedef {{keys: string, text: string, repeats?: boolean, run?: (event: KeyboardEvent) => void}} Shortcut
 */

/** @type {{title: string, shortcuts: Shortcut[]}[]} */
const groups = [];
let first = '';

/** WCAG 2.1.4 requires that users of speech input can turn off shortcuts of one character. */
let enabled = setting('shortcuts') !== 'off';

/**
 * Adds shortcuts, and returns a function that removes them.
 * @param {string} title
 * @param {Shortcut[]} shortcuts
 */
export function addShortcuts(title, shortcuts) {
  const group = { title, shortcuts };
  groups.push(group);
  return () => void groups.splice(groups.indexOf(group), 1);
}

/** Starts to listen for keys. */
export function startKeys() {
  addEventListener('keydown', (event) => {
    const target = event.target instanceof Element ? event.target : null;
    // A browser clicks on a button again and again while the user holds Enter, and also on the next button that gets the focus.
    if (event.repeat && event.key === 'Enter' && target?.closest('button, input, summary')) event.preventDefault();
    if (!enabled || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (target?.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') || document.querySelector('dialog[open]')) return;
    // Space activates these elements, and a shortcut must not prevent this.
    if (event.key === ' ' && target?.closest('button, a, summary, input, select, [role=tab]')) return;
    const pressed = event.key.length === 1 && event.key !== ' ' ? event.key : event.key === ' ' ? 'Space' : event.key;
    const sequence = first ? `${first} ${pressed}` : pressed;
    const starts = !first && groups.some((g) => g.shortcuts.some((s) => s.keys.startsWith(`${pressed} `)));
    first = '';
    for (const group of groups.slice().reverse()) {
      const found = group.shortcuts.find((s) => s.run && s.keys === sequence);
      if (found) {
        event.preventDefault();
        if (!event.repeat || found.repeats) found.run?.(event);
        return;
      }
    }
    if (starts) {
      first = pressed;
      setTimeout(() => { first = ''; }, 1500);
    }
  });
}

/** Opens the overlay with all shortcuts of the current page. */
export function showKeys() {
  const toggle = h('input', { type: 'checkbox', checked: enabled, onchange: () => {
    enabled = toggle.checked;
    saveSetting('shortcuts', enabled ? '' : 'off');
  } });
  openDialog('Keyboard', { class: 'keys' },
    h('div', { class: 'keygroups' }, groups.map((g) => h('section', null, h('h3', null, g.title), h('dl', null, g.shortcuts.map((s) =>
      h('div', null, h('dt', null, s.keys.split(' ').flatMap((k, i) => [i > 0 && ' ', h('kbd', null, k)])), h('dd', null, s.text))))))),
    h('label', { class: 'check' }, toggle, 'Use single-key shortcuts'));
}
