// The page of tags and units. It shows the items of each tag or unit, by selector and by ID, and its manifest.

import { pages } from './api.js';
import { button, debounced, fill, h, outsideLink } from './dom.js';
import { ownerOf } from './filter.js';
import { escapeTerm } from './item.js';
import { maxItems, openExport } from './manifest.js';
import { rejectionList, rejections } from './rejected.js';
import { href, parameters, setParameters } from './router.js';
import { badge, count, empty, failure, number, skeleton, tabs, toastError } from './ui.js';

/** @typedef {Record<string, any>} Definition */

/** @param {import('./shell.js').Context} context @returns {import('./shell.js').Page} */
export function definitionsPage({ session }) {
  const search = h('input', { type: 'search', placeholder: 'Name, owner or selector', 'aria-label': 'Find a tag or unit', value: parameters().get('find') ?? '', oninput: debounced(80, () => {
    setParameters({ find: search.value }, true);
    show();
  }) });
  const body = h('div', null);
  /** @type {'tag' | 'unit'} */
  let kind = parameters().get('kind') === 'unit' ? 'unit' : 'tag';
  /** @type {Record<string, Definition[]>} */
  const loaded = {};
  /** @type {import('./rejected.js').Rejection[]} */
  let refused = [];
  const views = tabs('Kind', [
    { id: 'tag', text: 'Tags', render: () => body },
    { id: 'unit', text: 'Conversion units', render: () => body },
  ], kind, (id) => {
    kind = id === 'unit' ? 'unit' : 'tag';
    setParameters({ kind: kind === 'unit' ? 'unit' : '' }, true);
    void load();
  });

  async function load() {
    const wanted = kind;
    if (!loaded[wanted]) {
      fill(body, skeleton(6));
      try {
        const list = [];
        for await (const page of pages('v2/content/definitions', { kind: wanted, page_size: 100 })) list.push(...page._embedded.definitions);
        loaded[wanted] = list;
        refused = await rejections();
      } catch (err) {
        if (kind === wanted) fill(body, failure(err, () => void load()));
        return;
      }
    }
    if (kind === wanted) show();
  }

  function show() {
    const all = loaded[kind] ?? [];
    const rejected = refused.filter((r) => r.kind === (kind === 'tag' ? 'Tag' : 'ActivateUnit'));
    const text = search.value.trim().toLowerCase();
    const found = all.filter((d) => [`${d.namespace}: ${d.key}`, d.name, d.managed_by, d.selector].some((part) => String(part ?? '').toLowerCase().includes(text)));
    if (found.length === 0) {
      fill(body, rejected.length > 0 && rejectionList(rejected), all.length > 0 ? empty(kind === 'tag' ? 'No tag matches' : 'No conversion unit matches', 'No name, owner or selector contains the text.')
        : kind === 'tag' ? empty('There are no tags yet', 'Apply a Tag manifest, or tag items on the Moderation page.')
          : empty('There are no conversion units yet', 'Apply an ActivateUnit manifest.'));
      return;
    }
    fill(body, rejected.length > 0 && rejectionList(rejected), h('div', { class: 'tablewrap', tabindex: '0', role: 'region', 'aria-label': kind === 'tag' ? 'Tags' : 'Conversion units' }, h('table', { class: 'filters' },
      h('thead', null, h('tr', null, [kind === 'tag' ? 'Tag' : 'Unit', 'Owner', 'By selector', 'By ID'].map((t) => h('th', { scope: 'col' }, t)), h('th', { scope: 'col', class: 'number' }, 'Items'))),
      h('tbody', null, found.map(row)))));
  }

  /** @param {Definition} d */
  function row(d) {
    const rule = d.selector ?? '';
    const ids = d.ids ?? [];
    const all = kind === 'tag' ? `tags.${escapeTerm(String(d.namespace))}.key:${escapeTerm(String(d.key))}` : `activate_units.id:${d.id}`;
    const byID = ids.length > 0 ? `id:(${ids.join(',')})` : '';
    return h('tr', null,
      h('th', { scope: 'row' }, h('a', { href: href('wall', { q: all }) }, h('bdi', null, kind === 'tag' ? `${d.namespace}: ${d.key}` : String(d.name ?? d.id))),
        kind === 'unit' && d.click_through_url && h('div', { class: 'small' }, outsideLink(d.click_through_url))),
      h('td', null, ownerOf(d.managed_by), kind === 'tag' && !d.managed_by && h('div', { class: 'actions start' }, button({
        text: 'Export manifest', 'aria-label': `Export manifest of the tag ${d.namespace}: ${d.key}`, onclick: (/** @type {MouseEvent} */ e) => void exportTag(d, all, e.currentTarget),
      })), d.archived && h('div', null, badge('plain', 'archived')), d.default && h('div', null, badge('plain', 'default'))),
      h('td', null, rule ? h('a', { href: href('wall', { q: String(rule) }) }, h('code', { class: 'clamp' }, h('bdi', null, String(rule)))) : h('span', { class: 'muted' }, '–')),
      h('td', null, byID ? h('a', { href: href('wall', { q: byID }) }, d.id_count > ids.length ? `First ${number(ids.length)} of ${count(d.id_count, 'ID')}` : count(ids.length, 'ID')) : h('span', { class: 'muted' }, '–')),
      h('td', { class: 'number' }, number(d.items)));
  }

  /**
   * Exports a tag that no manifest declares, with the items that have it now.
   * @param {Definition} d
   * @param {string} query finds the items
   * @param {any} control the button, which is disabled while the items are loaded
   */
  async function exportTag(d, query, control) {
    control.disabled = true;
    try {
      const ids = [];
      for await (const page of pages('v2/content/items', { q: query, sort_by: 'id:asc', page_size: 500 })) {
        ids.push(...page._embedded['ugc:item'].map((/** @type {any} */ item) => Number(item.id)));
        if (ids.length > maxItems) break;
      }
      if (control.isConnected) openExport({ property: session.property, ids, tag: { namespace: String(d.namespace), key: String(d.key) } });
    } catch (err) {
      toastError(err);
    } finally {
      control.disabled = false;
    }
  }

  return {
    element: h('div', { class: 'page definitions' }, h('div', { class: 'pagehead' }, h('h1', { tabindex: '-1' }, 'Tags and units'), h('span', { class: 'spacer' }), search), views.element),
    title: 'Tags and units', started: load,
    shortcuts: [
      { keys: '/', text: 'Find a tag or unit', run: () => search.focus() },
      { keys: '1', text: 'Tags', run: () => views.show('tag') },
      { keys: '2', text: 'Conversion units', run: () => views.show('unit') },
    ],
  };
}
