// The page with a table of the property's filters.

import { eachOf, follow, get, Problem } from './api.js';
import { button, debounced, fill, h } from './dom.js';
import { go, href, parameters, setParameters } from './router.js';
import { badge, count, date, empty, failure, number, skeleton } from './ui.js';

/** @typedef {Record<string, any>} Filter a filter as the API returns it */

/** @returns {Promise<Filter[]>} */
export async function allFilters() {
  let { data } = await get('v2/content/filters', { page_size: 100 });
  const filters = data._embeded ?? [];
  while (data._links?.next) {
    ({ data } = await follow(data._links.next.href));
    filters.push(...(data._embeded ?? []));
  }
  return filters;
}

/**
 * Returns the owner of a filter: its manifest, or HTTP.
 * @param {unknown} managedBy
 */
export function ownerOf(managedBy) {
  if (!managedBy) return h('span', { class: 'muted' }, 'HTTP');
  const [kind, name] = String(managedBy).split(' ');
  return h('span', { class: 'owner' }, h('bdi', null, name ?? kind));
}

/**
 * Returns the reason why the session cannot use the query of a filter, or null if it can. The API leaves out a query or an order with
 * private fields if the token does not allow ReadPrivate.
 * @param {Filter} filter
 */
export function hiddenFilter({ query, sort_by }) {
  if (query !== undefined && sort_by !== undefined) return null;
  return new Problem(403, { type: 'class-refused', detail: 'the filter uses private fields, so this needs a token that allows the action ReadPrivate' });
}

/** @param {import('./shell.js').Context} _context @returns {import('./shell.js').Page} */
export function filtersPage(_context) {
  const body = h('div', null, skeleton(8));
  const search = h('input', { type: 'search', placeholder: 'Name, owner or query', 'aria-label': 'Find a filter', value: parameters().get('find') ?? '', oninput: debounced(80, () => {
    setParameters({ find: search.value }, true);
    show();
  }) });
  /** @type {Filter[]} */
  let filters = [];
  /** @type {Map<string, number>} */
  const totals = new Map();
  /** @type {Map<string, HTMLElement>} */
  const cells = new Map();

  async function load() {
    try {
      filters = await allFilters();
    } catch (err) {
      fill(body, failure(err, () => void load()));
      return;
    }
    show();
    // Each count needs a request, so only the first 300 filters get a count. All other filters show a dash.
    await eachOf(filters.slice(0, 300), async (f) => {
      if (!body.isConnected) return;
      const { data } = await get(`v2/content/filters/${f.filter_uuid}`, { info: 1 });
      totals.set(f.filter_uuid, data.total_results);
      const cell = cells.get(f.filter_uuid);
      if (cell) fill(cell, number(data.total_results));
    });
  }

  function show() {
    const wanted = search.value.trim().toLowerCase();
    // The table does not show the UUID, so a part of it must not match.
    const found = filters.filter((f) => f.filter_uuid === wanted || [f.name, f.managed_by, f.query].some((text) => String(text ?? '').toLowerCase().includes(wanted)));
    if (filters.length === 0) {
      fill(body, empty('There are no filters yet', 'A filter is a saved query. Find items on the wall, and select “New filter from this query…”.', button({ text: 'Go to the wall', onclick: () => go(href('wall')) })));
      return;
    }
    if (found.length === 0) {
      fill(body, empty('No filter matches', `No name, owner or query of the ${count(filters.length, 'filter')} contains the text.`));
      return;
    }
    fill(body, h('div', { class: 'tablewrap', tabindex: '0', role: 'region', 'aria-label': 'Filters' }, h('table', { class: 'filters' },
      h('thead', null, h('tr', null, ['Name', 'Owner', 'Query'].map((t) => h('th', { scope: 'col' }, t)), h('th', { scope: 'col', class: 'number' }, 'Items'), h('th', { scope: 'col' }, 'Last change'), h('th', { scope: 'col' }, h('span', { class: 'hidden' }, 'Actions')))),
      h('tbody', null, found.map(row)))));
  }

  /** @param {Filter} f */
  function row(f) {
    const total = totals.get(f.filter_uuid);
    const cell = h('td', { class: 'number' }, total === undefined ? '–' : number(total));
    cells.set(f.filter_uuid, cell);
    const hidden = hiddenFilter(f);
    return h('tr', null,
      h('th', { scope: 'row' }, h('a', { href: href('wall', { filter: f.filter_uuid }) }, h('bdi', null, String(f.name))),
        f.read_access === 'ReadOnly' && h('div', { title: 'READ-ONLY tokens can list the items' }, badge('plain', 'READ-ONLY tokens'))),
      h('td', null, ownerOf(f.managed_by)),
      h('td', null, h('code', { class: 'clamp' }, h('bdi', null, String(f.query ?? ''))), f.sort_by && h('div', { class: 'muted small' }, h('bdi', null, String(f.sort_by))),
        hidden && h('span', { class: 'muted' }, 'Uses private fields')),
      cell,
      h('td', { class: 'nowrap' }, date(f.last_modified, true)),
      h('td', null, h('div', { class: 'actions' },
        h('a', { class: 'button', href: href('wall', { filter: f.filter_uuid }), 'aria-label': `Open ${f.name} as a wall` }, 'Open'),
        !hidden && h('a', { class: 'button', href: href('filters/edit', { from: f.filter_uuid }), 'aria-label': `Propose a change to ${f.name}` }, 'Propose a change'))));
  }

  return {
    element: h('div', { class: 'page' },
      h('div', { class: 'pagehead' }, h('h1', { tabindex: '-1' }, 'Filters'), h('span', { class: 'spacer' }), search,
        h('a', { class: 'button primary', href: href('filters/edit') }, 'New filter')),
      body),
    title: 'Filters', started: load,
    shortcuts: [
      { keys: '/', text: 'Find a filter', run: () => search.focus() },
      { keys: 'n', text: 'New filter', run: () => go(href('filters/edit')) },
    ],
  };
}
