// The frame around all pages, with the navigation, the settings and the session.

import { logOut, may } from './api.js';
import { button, fill, h, icon } from './dom.js';
import { picturesOn } from './item.js';
import { addShortcuts, showKeys } from './keys.js';
import { logo } from './login.js';
import { forgetRejections, rejectionEvents, rejections } from './rejected.js';
import { base, go, href, navigation, pageName } from './router.js';
import { badge, empty, failure, number, refusal, refused, saveSetting, setting, toastError } from './ui.js';

/** @typedef {{session: import('./api.js').Session, scroller: HTMLElement}} Context */

/**
 * @typedef {object} Page
 * @property {HTMLElement} element
 * @property {string} title
 * @property {() => void | Promise<void>} [started] is called when the element is in the document
 * @property {() => void} [updated] is called when the parameters in the URL have changed
 * @property {() => void} [stopped]
 * @property {import('./keys.js').Shortcut[]} [shortcuts]
 */

/** The pages by the path below the console. @type {Record<string, () => Promise<(context: Context) => Page>>} */
const pages = {
  wall: async () => (await import('./wall.js')).wallPage,
  filters: async () => (await import('./filters.js')).filtersPage,
  'filters/edit': async () => (await import('./editor.js')).editorPage,
  tags: async () => (await import('./definitions.js')).definitionsPage,
  moderation: async () => (await import('./moderation.js')).moderationPage,
  status: async () => (await import('./status.js')).statusPage,
};

/**
 * The entries of the navigation. A page with `needs` is for READ-WRITE sessions. If the list is not empty, the session also needs one of
 * the actions. An entry with `kinds` shows how many objects of these kinds are rejected; an empty list means all kinds.
 * @type {{page: string, text: string, icon: 'wall' | 'filters' | 'tags' | 'moderation' | 'status', key: string, needs?: import('./api.js').Action[], kinds?: string[]}[]}
 */
const entries = [
  { page: 'wall', text: 'Wall', icon: 'wall', key: 'w' },
  { page: 'filters', text: 'Filters', icon: 'filters', key: 'f', needs: [], kinds: ['ContentFilter'] },
  { page: 'tags', text: 'Tags and units', icon: 'tags', key: 't', needs: [], kinds: ['Tag', 'ActivateUnit'] },
  { page: 'moderation', text: 'Moderation', icon: 'moderation', key: 'm', needs: ['Moderate', 'Tag'] },
  { page: 'status', text: 'Status', icon: 'status', key: 's', needs: [], kinds: [] },
];

/**
 * Builds the frame and shows the page for the URL. It returns a function that removes the frame.
 * @param {import('./api.js').Session} session
 */
export function startShell(session) {
  const scroller = h('main', { class: 'content', id: 'content' });
  const links = entries.map((e) => h('a', { href: href(e.page), title: `${e.text} (g ${e.key})` }, icon(e.icon), h('span', null, e.text), h('span', { class: 'count', hidden: true })));
  const pictures = h('input', { type: 'checkbox', role: 'switch', checked: picturesOn(), onchange: () => {
    saveSetting('pictures', pictures.checked ? '' : 'off');
    void show(true);
  } });
  const theme = h('select', { id: 'theme', 'aria-label': 'Theme', onchange: () => {
    saveSetting('theme', theme.value);
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
  } }, [['', 'System'], ['light', 'Light'], ['dark', 'Dark']].map(([value, text]) => h('option', { value }, text)));
  theme.value = setting('theme');
  const navigationBar = h('nav', { 'aria-label': 'Pages' }, links);
  const frame = h('div', { class: 'frame' },
    h('a', { class: 'skip', href: '#content', onclick: (/** @type {Event} */ e) => { e.preventDefault(); focusHeading(); } }, 'Skip to the content'),
    h('header', { class: 'sidebar' },
      h('div', { class: 'brand' }, logo(), h('span', null, 'Vitrine')),
      h('div', { class: 'property', title: 'The property of your access token' }, h('bdi', null, session.property), session.class === 'READ-ONLY' && badge('plain', 'READ-ONLY'),
        session.user && h('bdi', { class: 'user', title: 'You are logged in as this person' }, session.user)),
      navigationBar,
      h('div', { class: 'settings' },
        h('label', { class: 'check' }, pictures, h('span', null, 'Pictures')),
        theme,
        h('div', { class: 'row' }, button({ icon: 'keys', text: 'Keyboard', only: true, kind: 'quiet', key: '?', onclick: showKeys, class: 'keysbutton' }),
          button({ icon: 'out', text: 'Log out', kind: 'quiet', onclick: () => logOut().then(() => location.replace(base), toastError) })))),
    scroller);
  document.body.prepend(frame);

  /** @type {Page | null} */
  let current = null;
  let name = '';
  let removeShortcuts = () => {};
  let turn = 0;

  function focusHeading() {
    /** @type {HTMLElement | null} */ (scroller.querySelector('h1'))?.focus();
  }

  /** Shows the numbers of rejected objects in the navigation. */
  async function showRejected() {
    const list = await rejections();
    entries.forEach(({ kinds }, i) => {
      const n = kinds ? list.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)).length : 0;
      const counter = /** @type {HTMLElement} */ (links[i].lastElementChild);
      counter.hidden = n === 0;
      fill(counter, n > 0 && badge('bad', number(n)), h('span', { class: 'hidden' }, ' rejected'));
    });
  }

  /** @param {boolean} [again] whether to create the page again */
  async function show(again) {
    const wanted = pageName();
    if (wanted === name && current && !again) {
      current.updated?.();
      return;
    }
    const initial = name === '';
    turn += 1;
    const mine = turn;
    removeShortcuts();
    current?.stopped?.();
    current = null;
    name = wanted;
    links.forEach((link, i) => {
      if (wanted.split('/')[0] === entries[i].page) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    });
    try {
      const load = pages[wanted];
      const entry = entries.find((e) => e.page === wanted.split('/')[0]);
      const reason = entry?.needs && refusal(session, 'This page', ...entry.needs);
      const page = entry && reason ? closed(entry.text, reason)
        : load ? (await load())({ session, scroller }) : { element: h('div', { class: 'page' }, h('h1', { class: 'hidden', tabindex: '-1' }, 'Not found'), empty('This page does not exist', 'The address is incomplete, or belongs to another version of the console.', h('a', { class: 'button', href: href('wall') }, 'Go to the wall'))), title: 'Not found' };
      if (mine !== turn) return;
      current = page;
      document.title = `${page.title} – ${session.property} – Vitrine`;
      fill(scroller, page.element);
      scroller.scrollTop = 0;
      removeShortcuts = addShortcuts(page.title, page.shortcuts ?? []);
      if (!initial && !again) focusHeading();
      if (may(session)) void rejections();
      await page.started?.();
    } catch (err) {
      if (mine === turn) fill(scroller, h('div', { class: 'page' }, failure(err, () => void show(true))));
    }
  }
  const navigated = () => void show();
  const rejected = () => void showRejected();
  rejectionEvents.addEventListener('changed', rejected);
  navigation.addEventListener('navigate', navigated);
  const removeGlobal = addShortcuts('Everywhere', [
    ...entries.map((e) => ({ keys: `g ${e.key}`, text: e.text, run: () => go(href(e.page)) })),
    { keys: '?', text: 'Show the keyboard shortcuts', run: showKeys },
    { keys: 'Escape', text: 'Close the dialog or the suggestions' },
  ]);
  void show();

  return () => {
    navigation.removeEventListener('navigate', navigated);
    rejectionEvents.removeEventListener('changed', rejected);
    forgetRejections();
    removeShortcuts();
    removeGlobal();
    current?.stopped?.();
    frame.remove();
    for (const dialog of document.querySelectorAll('dialog')) dialog.remove();
  };
}

/**
 * Returns the page for a session that may not use a page.
 * @param {string} title
 * @param {string} reason
 * @returns {Page}
 */
function closed(title, reason) {
  return { element: h('div', { class: 'page' }, h('h1', { class: 'hidden', tabindex: '-1' }, title), refused(reason)), title };
}
