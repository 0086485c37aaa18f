// The page with a table of the property's filters.

import { curl, get, read } from './api.js';
import { button, debounced, fill, h } from './dom.js';
import { allFilters, hiddenFilter, ownerOf } from './filter.js';
import { propertyStatus, rejectionList, rejectionNote, rejections } from './rejected.js';
import { discardDraft, draftsOf, draftURL } from './drafts.js';
import { go, href, parameters, setParameters } from './router.js';
import { badge, copy, count, date, empty, explainError, failure, number, openDialog, skeleton } from './ui.js';

/** @typedef {import('./filter.js').Filter} Filter */

/** The number of counts that the page requests at the same time. */
const atOnce = 4;

/** @param {import('./shell.js').Context} context @returns {import('./shell.js').Page} */
export function filtersPage({ session, scroller }) {
  const body = h('div', null);
  const refused = h('div', null);
  const drafts = h('div', null);
  const search = h('input', { type: 'search', placeholder: 'Name, owner or query', 'aria-label': 'Find a filter', value: parameters().get('find') ?? '', oninput: debounced(80, () => {
    setParameters({ find: search.value }, true);
    show();
  }) });
  /** The filters that have been loaded. @type {Filter[]} */
  let filters = [];
  const rows = h('tbody', { role: 'rowgroup' });
  // On a narrow screen, the style shows each row as a card. Without the roles, the table would then be none for screen readers.
  const table = h('div', { class: 'tablewrap', tabindex: '0', role: 'region', 'aria-label': 'Filters' }, h('table', { class: 'filters cards', role: 'table' },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ['Name', 'Owner', 'Query'].map((t) => h('th', { scope: 'col', role: 'columnheader' }, t)), h('th', { scope: 'col', role: 'columnheader', class: 'number' }, 'Items'), h('th', { scope: 'col', role: 'columnheader' }, 'Last change'), h('th', { scope: 'col', role: 'columnheader' }, h('span', { class: 'hidden' }, 'Actions')))),
    rows));
  /** Returns what the page shows while the table has no rows. */
  let noRows = () => skeleton(8);
  /** The number of items of each filter, or the reason why the server could not count them. @type {Map<string, number | string>} */
  const totals = new Map();
  /** @type {Map<string, HTMLElement>} */
  const cells = new Map();
  /** The filters with visible rows that have no count yet. The page counts the last one first. @type {string[]} */
  let waiting = [];
  let running = 0;

  // Each count needs a request, so the page counts the items of a filter when its row is almost visible.
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      const id = String(/** @type {HTMLElement} */ (target).dataset.filter);
      waiting = waiting.filter((w) => w !== id);
      if (isIntersecting && !totals.has(id)) waiting.push(id);
    }
    for (; running < atOnce && waiting.length > 0; running++) void countNext();
  }, { root: scroller, rootMargin: '100% 0%' });

  async function countNext() {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const { data, reason } = await read(`v2/content/filters/${id}?info=1`).then((answer) => ({ data: answer.data, reason: '' }), (err) => ({ data: null, reason: explainError(err).text }));
      totals.set(id, data ? data.total_results : reason);
      const cell = cells.get(id);
      if (cell) fill(cell, total(id));
    }
    running--;
  }

  /** @param {string} id returns the number of items of a filter, or why there is none */
  function total(id) {
    const n = totals.get(id);
    if (typeof n === 'number') return number(n);
    if (n === undefined) return h('span', { class: 'muted' }, 'counting…');
    return h('span', { class: 'muted' }, 'not counted', h('div', { class: 'small' }, n));
  }

  function showDrafts() {
    const list = draftsOf(session.property);
    fill(drafts, list.length > 0 && h('details', { class: 'drafts', open: drafts.querySelector('[open]') !== null }, h('summary', null, `Drafts in this browser (${number(list.length)})`),
      h('ul', null, list.map((draft) => h('li', { class: 'row' }, h('a', { href: draftURL(draft) }, h('bdi', null, draft.title)),
        h('span', { class: 'muted' }, draft.values.from ? 'Change, ' : 'New filter, ', date(draft.changed)), h('span', { class: 'spacer' }),
        button({ text: 'Discard', kind: 'quiet', 'aria-label': `Discard the draft ${draft.title}`, onclick: () => { discardDraft(draft.id); showDrafts(); } }))))));
  }

  async function load() {
    showDrafts();
    noRows = () => skeleton(8);
    show();
    try {
      for await (const some of allFilters()) {
        filters.push(...some);
        add(some);
      }
    } catch (err) {
      filters = [];
      noRows = () => failure(err, () => void load());
      show();
      return;
    }
    noRows = () => (filters.length > 0 ? empty('No filter matches', `No name, owner or query of the ${count(filters.length, 'filter')} contains the text.`)
      : empty('There are no filters yet', 'A filter is a saved query. Find items on the wall, and select “New filter from this query…”.', button({ text: 'Go to the wall', onclick: () => go(href('wall')) })));
    add([]);
    const rejected = (await rejections()).filter(({ kind }) => kind === 'ContentFilter');
    if (rejected.length > 0) fill(refused, rejectionList(rejected));
  }

  /** Shows the filters that contain the text of the search. */
  function show() {
    observer.disconnect();
    waiting = [];
    cells.clear();
    fill(rows);
    add(filters);
  }

  /** Adds rows for the filters that contain the text of the search. @param {Filter[]} more */
  function add(more) {
    const wanted = search.value.trim().toLowerCase();
    // The table does not show the UUID, so a part of it must not match.
    const found = more.filter((f) => f.filter_uuid === wanted || [f.name, f.managed_by, f.query].some((text) => String(text ?? '').toLowerCase().includes(wanted)));
    rows.append(...found.map(row));
    for (const { filter_uuid } of found) observer.observe(/** @type {HTMLElement} */ (cells.get(filter_uuid)));
    if (!rows.hasChildNodes()) fill(body, noRows());
    else if (!table.isConnected) fill(body, table);
  }

  /** @param {Filter} f */
  function row(f) {
    const cell = h('td', { role: 'cell', class: 'number', 'data-label': 'Items', 'data-filter': f.filter_uuid }, total(f.filter_uuid));
    cells.set(f.filter_uuid, cell);
    const hidden = hiddenFilter(f);
    const name = h('th', { scope: 'row', role: 'rowheader' }, h('a', { href: href('wall', { filter: f.filter_uuid }) }, h('bdi', null, String(f.name))),
      f.read_access === 'ReadOnly' && h('div', { title: 'READ-ONLY tokens can list the items' }, badge('plain', 'READ-ONLY tokens')));
    if (f.managed_by) void rejectionNote(f.managed_by).then((note) => note && name.append(note));
    return h('tr', { role: 'row' }, name,
      h('td', { role: 'cell', 'data-label': 'Owner' }, ownerOf(f.managed_by)),
      h('td', { role: 'cell' }, h('code', { class: 'clamp' }, h('bdi', null, String(f.query ?? ''))), f.sort_by && h('div', { class: 'muted small' }, h('bdi', null, String(f.sort_by))),
        hidden && h('span', { class: 'muted' }, 'Uses private fields')),
      cell,
      h('td', { role: 'cell', class: 'nowrap', 'data-label': 'Last change' }, date(f.last_modified, true)),
      h('td', { role: 'cell' }, h('div', { class: 'actions' },
        h('a', { class: 'button', href: href('wall', { filter: f.filter_uuid }), 'aria-label': `Open ${f.name} as a wall` }, 'Open'),
        button({ text: 'URL', 'aria-label': `URL of ${f.name}`, onclick: () => showURL(f) }),
        !hidden && h('a', { class: 'button', href: href('filters/edit', { from: f.filter_uuid }), 'aria-label': `Propose a change to ${f.name}` }, 'Propose a change'))));
  }

  return {
    element: h('div', { class: 'page' },
      h('div', { class: 'pagehead' }, h('h1', { tabindex: '-1' }, 'Filters'), h('span', { class: 'spacer' }), search,
        h('a', { class: 'button primary', href: href('filters/edit') }, 'New filter')),
      refused, drafts, body),
    title: 'Filters', started: load,
    stopped: () => {
      observer.disconnect();
      waiting = [];
    },
    shortcuts: [
      { keys: '/', text: 'Find a filter', run: () => search.focus() },
      { keys: 'n', text: 'New filter', run: () => go(href('filters/edit')) },
    ],
  };
}

/**
 * Opens a dialog with the URL of a filter, and with what an app with a READ-ONLY token gets from this URL.
 * @param {Filter} f
 */
function showURL(f) {
  const path = `v2/content/filters/${f.filter_uuid}`;
  const url = new URL(`/${path}`, location.href).href;
  const command = curl(path);
  const part = (/** @type {string} */ title, /** @type {string} */ text, /** @type {string} */ what) => h('section', { class: 'urlpart' },
    h('div', { class: 'row' }, h('h3', null, title), h('span', { class: 'spacer' }), button({ icon: 'copy', text: `Copy ${what}`, onclick: () => void copy(text, what) })), h('pre', { class: 'code', tabindex: '0' }, text));
  const seen = h('div', { class: 'seen' }, f.read_access === 'ReadOnly' ? skeleton(3)
    : h('p', null, 'Nothing: the server answers 403, because readAccess of the filter is not ReadOnly. ', f.managed_by ? 'Propose a change, and select “READ-ONLY tokens too”.' : 'Only a filter with a manifest can allow it: propose a change, and select “READ-ONLY tokens too”.'));
  openDialog(String(f.name), { class: 'filterurl' }, h('div', { class: 'dialogform' },
    part('URL', url, 'the URL'), part('Command', command, 'the command'), h('h3', null, 'As READ-ONLY tokens see it'), seen));
  if (f.read_access === 'ReadOnly') {
    readOnlyView(path).then((lines) => fill(seen, h('ul', null, lines.map((line) => h('li', null, line)))), (err) => fill(seen, failure(err)));
  }
}

/**
 * Returns what an app with a READ-ONLY token gets, in sentences. The session has another token, so the console computes it from the scope of
 * READ-ONLY tokens.
 * @param {string} path
 */
async function readOnlyView(path) {
  const { read_only_scope: scope = {} } = await propertyStatus();
  const total = async (/** @type {string} */ within) => (await get(path, { additional_query: within, page_size: 1 })).data.total_results;
  const all = await total('');
  return [
    scope.query_hidden ? `At most ${count(all, 'item')}: the Property limits READ-ONLY tokens by a query with private fields, which your token may not read.`
      : scope.query ? [`${number(await total(scope.query))} of ${count(all, 'item')}: the Property limits READ-ONLY tokens to `, h('code', null, h('bdi', null, String(scope.query))), '.']
        : `${count(all, 'item')}: the Property does not limit READ-ONLY tokens.`,
    'A token with a query of its own gets the items that match that query, and a token with a list of filters only the filters in it.',
    'The items have no submission. The query of the filter, and an order by private fields, are hidden.',
    'A page has 50 items, or page_size=1 to 500.',
    'Cache-Control is what spec.cache of the Property says, by default public, max-age=60. Your session cannot request it, because responses to READ-WRITE tokens are never cached: run the command with a READ-ONLY token and -i.',
  ];
}
