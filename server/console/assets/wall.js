// The wall, which shows the items of a query or a filter as a grid.

import { button, fill, h, labelled, select } from './dom.js';
import { countItems, get, may } from './api.js';
import { Chips } from './chips.js';
import { nearMisses } from './clauses.js';
import { hiddenFilter } from './filter.js';
import { Grid } from './grid.js';
import { authorOf, tileContent } from './item.js';
import { Listings, requestOf } from './listing.js';
import { News } from './news.js';
import { bestMatch, orderControl } from './order.js';
import { QueryBar } from './querybar.js';
import { rejectionNote } from './rejected.js';
import { go, href, parameters, setParameters } from './router.js';
import { Selection } from './selection.js';
import { announce, count, duration, empty, failure, number, refusal, saveSetting, setting, toastError } from './ui.js';

/** The number of items that fill a window. A first page of this size arrives sooner than one of full size. */
const firstPage = 30;

/** The minimum widths of tiles in pixels. @type {Record<string, number>} */
const sizes = { small: 128, medium: 200, large: 300 };

/** @param {import('./shell.js').Context} context @returns {import('./shell.js').Page} */
export function wallPage({ session, scroller }) {
  const writes = may(session);
  let state = read();
  const lists = new Listings();
  /** @type {ReturnType<typeof import('./itemdialog.js').openItem> | null} */
  let dialog = null;

  const bar = new QueryBar({
    value: state.q, label: 'Query', placeholder: 'Search, for example approval_status:app AND beach', order: () => state.sort_by,
    changed: (q, submitted) => change({ q, miss: '' }, !submitted),
    read: (q, clauses) => chips.read(q, clauses),
    judged: (invalid) => old(invalid),
  });
  // The values of a filter's items can be counted only with a READ-WRITE token.
  const chips = new Chips({ changed: (q) => change({ q, miss: '' }), counts: (filter) => writes || !filter });
  const order = orderControl({ value: state.sort_by, standard: standardOrder(), private: may(session, 'ReadPrivate'), changed: (sort_by) => change({ sort_by, seed: '' }) });
  const favorite = h('input', { type: 'text', placeholder: 'namespace:key', spellcheck: 'false', onchange: () => change({ favorite_tag: favorite.value.trim() }) });
  const seedInput = h('input', { type: 'number', class: 'seed', step: 'any', onchange: () => change({ seed: seedInput.value }) });
  const shuffle = button({ icon: 'shuffle', text: 'Another random order', only: true, onclick: () => change({ seed: String(Math.floor(Math.random() * 1e6)) }) });
  const seedField = labelled('Seed', seedInput);
  seedField.append(shuffle);
  const size = select([['small', 'Small'], ['medium', 'Medium'], ['large', 'Large']], setting('size') || 'medium', (value) => {
    saveSetting('size', value);
    grid.resize(sizes[value]);
  });
  const facts = h('input', { type: 'checkbox', checked: setting('facts') === 'on', onchange: () => {
    saveSetting('facts', facts.checked ? 'on' : '');
    grid.reset();
    grid.setCount(lists.shown.items.length, lists.shown.total);
  } });
  const explain = button({ text: 'Explain', 'aria-pressed': 'false', disabled: !writes, title: refusal(session, 'Explain') || null, onclick: () => change({ explain: !state.explain, out: false, miss: '' }) });
  const save = button({
    icon: 'filters', text: 'New filter from this query…', disabled: !writes, title: refusal(session, 'A new filter') || null,
    onclick: () => newFilter().catch(toastError),
  });
  const filterChip = h('div', { class: 'filterchip', hidden: true });
  const explainBar = h('div', { class: 'explainbar', hidden: true });
  const misses = h('div', { class: 'misses' });
  const stale = h('p', { class: 'muted', role: 'status' });
  const body = h('div', { class: 'wallbody' });

  const grid = new Grid({
    scroller, minWidth: sizes[setting('size')] ?? sizes.medium, caption: 68, role: 'feed', label: 'Items',
    render: (index, focusable) => {
      const item = selection.shown(lists.shown.items[index]);
      const id = Number(item.id);
      const chosen = selection.ids.has(id);
      return h('article', { class: `${chosen ? 'chosen' : ''} ${news.gone.has(id) ? 'gone' : ''}` },
        news.gone.has(id) && h('span', { class: 'hidden' }, 'No longer in the list'),
        selection.on && h('input', { type: 'checkbox', class: 'choose', checked: chosen, 'aria-label': `Select item ${id} by ${authorOf(item)}`, onclick: (/** @type {MouseEvent} */ e) => {
          e.preventDefault(); // the selection renders the tile again
          selection.toggle(index, e.shiftKey);
        } }),
        h('a', {
          href: href('wall', { ...state, item: item.id }), 'data-focus': true, tabindex: focusable ? '0' : '-1',
          onclick: (/** @type {MouseEvent} */ e) => {
            if (selection.on && !e.ctrlKey && !e.metaKey) {
              e.preventDefault();
              selection.toggle(index, e.shiftKey);
              return;
            }
            if (e.ctrlKey || e.metaKey || e.shiftKey) return;
            e.preventDefault();
            open(index);
          },
        }, tileContent(item)));
    },
    nearEnd: () => void more(),
  });

  const selection = new Selection({
    session, items: () => lists.shown.items, query: () => state.q,
    changed: (id) => {
      const index = lists.shown.items.findIndex((item) => Number(item.id) === id);
      if (index >= 0) grid.refresh(index);
      dialog?.changed(id);
    },
    toggled: () => lists.shown.items.forEach((_, index) => grid.refresh(index)),
  });

  const news = new News({
    session, lists, grid, before: bar.status, load,
    untouched: () => scroller.scrollTop === 0 && !selection.on && selection.decisions.history.length === 0 && !dialog && !grid.element.matches(':hover, :focus-within'),
  });

  const element = h('div', { class: 'page wall' },
    h('h1', { class: 'hidden', tabindex: '-1' }, 'Wall'),
    h('div', { class: 'toolbar' },
      h('div', { class: 'bar' }, bar.element, explain, selection.switch),
      h('details', { class: 'options', open: matchMedia('(min-width: 900px)').matches },
        h('summary', null, 'View options'),
        h('div', { class: 'row' }, order.element, labelled('Favorite tag first', favorite), seedField, labelled('Tiles', size), h('label', { class: 'check' }, facts, 'Date and platform'),
          h('span', { class: 'spacer' }), save)),
      filterChip, explainBar, selection.bar),
    chips.element, stale, body);

  /** Reads the state of the page from the URL. */
  function read() {
    const p = parameters();
    const text = (/** @type {string} */ name) => p.get(name) ?? '';
    return {
      q: text('q'), filter: text('filter'), sort_by: text('sort_by'), favorite_tag: text('favorite_tag'), seed: text('seed'),
      explain: writes && p.has('explain'), out: p.has('out'), miss: text('miss'),
    };
  }

  /** Returns the name of the order that applies if there is no sort_by. */
  function standardOrder() {
    return state.filter ? 'Order of the filter' : bestMatch;
  }

  /**
   * Changes the state, and with it the URL and the list.
   * @param {Partial<typeof state>} values
   * @param {boolean} [replace]
   */
  function change(values, replace) {
    state = { ...state, ...values };
    setParameters(state, replace);
    controls();
    void load();
  }

  /** Shows the state of the page in the controls. */
  function controls() {
    bar.set(state.q);
    order.set(state.sort_by, standardOrder());
    favorite.value = state.favorite_tag;
    seedInput.value = state.seed;
    seedField.hidden = state.sort_by !== 'random';
    explain.setAttribute('aria-pressed', String(state.explain));
    explainBar.hidden = !state.explain;
    if (state.explain) showExplainBar();
    filterChip.hidden = state.filter === '';
    if (state.filter && state.filter !== shownFilter) void showFilter();
  }

  /** Marks the shown items as those of an earlier query. @param {boolean} invalid whether the query in the bar has an error */
  function old(invalid) {
    const is = invalid && grid.element.isConnected;
    body.classList.toggle('old', is);
    fill(stale, is && 'These are the items of the last query without an error.');
  }

  function showExplainBar() {
    const id = h('input', { type: 'text', inputmode: 'numeric', placeholder: 'Item ID', 'aria-label': 'ID of the item to explain' });
    const segment = (/** @type {boolean} */ out, /** @type {string} */ text) => h('button', {
      type: 'button', 'aria-pressed': String(state.out === out), onclick: () => change({ out, miss: '' }),
    }, text);
    fill(explainBar,
      h('span', null, 'Select an item to see why it is or is not in the result.'),
      h('div', { class: 'segments', role: 'group', 'aria-label': 'Items to show' }, segment(false, 'In the result'), segment(true, 'Not in the result')),
      h('form', { onsubmit: (/** @type {Event} */ e) => {
        e.preventDefault();
        if (/^\d+$/.test(id.value.trim())) show(Number(id.value));
      } }, id, button({ text: 'Explain item', type: 'submit' })),
      misses);
    misses.hidden = !state.out;
  }

  /** @type {{id: string, data: Promise<Record<string, any>>} | null} */
  let filterRequest = null;

  /** Returns the filter of the list. It requests the filter only once, unless a request fails. */
  function filterInfo() {
    if (filterRequest?.id !== state.filter) {
      const request = { id: state.filter, data: get(`v2/content/filters/${encodeURIComponent(state.filter)}`, { info: 1 }).then(({ data }) => data) };
      request.data.catch(() => {
        if (filterRequest === request) filterRequest = null;
      });
      filterRequest = request;
    }
    return filterRequest.data;
  }

  /** The ID of the filter in the chip. */
  let shownFilter = '';
  async function showFilter() {
    const wanted = state.filter;
    shownFilter = wanted;
    const show = (/** @type {Record<string, any>} */ info) => fill(filterChip, h('span', { class: 'chiplabel' }, 'Filter'), info.name && h('strong', null, h('bdi', null, String(info.name))),
      info.query && h('code', null, String(info.query)), button({ icon: 'close', text: 'Search all items instead', only: true, kind: 'quiet', onclick: () => change({ filter: '' }) }));
    show({});
    try {
      const info = await filterInfo();
      if (shownFilter === wanted) show(info);
      const rejected = writes && await rejectionNote(info.managed_by);
      if (rejected && shownFilter === wanted) filterChip.append(rejected);
    } catch (err) {
      if (shownFilter === wanted) shownFilter = ''; // the next change of the page then requests the filter again
      toastError(err);
    }
  }

  /** Returns the query of the list. This is the query of the filter, narrowed by the query in the query bar. */
  async function wholeQuery() {
    const { filter, q } = state;
    const info = filter ? await filterInfo() : null;
    const hidden = info && hiddenFilter(info);
    if (hidden) throw hidden;
    const parts = [info && String(info.query), q].filter(Boolean);
    return parts.length > 1 ? parts.map((part) => `(${part})`).join(' AND ') : parts[0] ?? '';
  }

  /** Opens the editor with a new filter that lists the same items as this page. */
  async function newFilter() {
    const { filter, q, sort_by, favorite_tag } = state;
    const info = filter ? await filterInfo() : {};
    // If there is no order, a query lists the best match first, but a filter lists the newest item first.
    const shownOrder = sort_by || info.sort_by || (q && '_score:desc');
    go(href('filters/edit', { q: await wholeQuery(), sort_by: shownOrder, favorite_tag: favorite_tag || info.favorite_tag }));
  }

  /** Returns the source of the list. */
  async function source() {
    const { q, filter, sort_by, favorite_tag, seed } = state;
    const common = { sort_by, favorite_tag, seed, page_size: firstPage };
    if (!state.explain || !state.out) return { q, filter, ...common };
    const whole = await wholeQuery() || '*:*';
    const near = await nearMisses(whole);
    showMisses(near);
    const only = near[Number(state.miss) - 1];
    if (only) return { q: only.q, ...common };
    if (near.length === 0 || sort_by) return { q: `*:* AND NOT (${whole})`, ...common };
    // The boost puts the items that fail only one clause first.
    return { q: `+*:* -(${whole}) ${near.map((miss) => `(${miss.q})^1000`).join(' ')}`, ...common, sort_by: '_score:desc' };
  }

  /** Shows a button for each clause, which lists the items that fail only this clause. @param {import('./clauses.js').Miss[]} near */
  function showMisses(near) {
    fill(misses, near.length > 0 && h('span', { class: 'muted' }, 'Fails only:'), near.map(({ clause, q }, i) => {
      const n = h('span', { class: 'count' });
      countItems(q).then((total) => fill(n, ' ', number(total)), () => {}); // the list reports errors
      const on = state.miss === String(i + 1);
      return h('button', { type: 'button', class: 'chip', 'aria-pressed': String(on), onclick: () => change({ miss: on ? '' : String(i + 1) }) }, h('code', null, h('bdi', null, clause)), n);
    }));
  }

  async function load() {
    element.setAttribute('aria-busy', 'true');
    const since = selection.decisions.time;
    try {
      if (!await lists.load(source)) return;
    } catch (err) {
      element.removeAttribute('aria-busy');
      fill(bar.status);
      if (bar.showProblem(err)) {
        if (!grid.element.isConnected) fill(body, empty('The query has an error', 'The message below the query describes the error. Correct the query to see its items.'));
        return;
      }
      fill(body, failure(err, () => void load()));
      return;
    }
    element.removeAttribute('aria-busy');
    const listing = lists.shown;
    news.start();
    selection.listed(since);
    chips.show(state.q, state.filter);
    fill(bar.status, count(listing.total, 'item'), h('span', { class: 'time' }, duration(listing.ms)));
    announce(count(listing.total, 'item'));
    if (listing.warnings.length > 0) bar.show(listing.warnings.map((message) => ({ severity: 'warning', message: message.replace(/^[a-z-]+: /, '') })));
    const focused = grid.element.contains(document.activeElement);
    grid.reset();
    if (listing.items.length === 0) {
      grid.setCount(0, 0);
      fill(body, state.explain && state.out ? empty('Every item is in the result', 'The query excludes no item.')
        : state.q || state.filter ? empty('No item matches', writes ? 'Use fewer clauses, or select “Explain” to see which clause excludes an item.' : 'Use fewer clauses.', button({ text: 'Show all items', onclick: () => change({ q: '', filter: '' }) }))
          : empty('There are no items yet', 'Items appear here when an app posts them, or when you import a file with vitrine import.'));
      return;
    }
    if (!grid.element.isConnected) fill(body, grid.element);
    scroller.scrollTop = 0;
    grid.setCount(listing.items.length, listing.total);
    if (focused) grid.focus(0); // the tile that had the focus no longer exists
    performance.mark('vitrine.wall');
  }

  async function more() {
    if (!await lists.more()) return;
    grid.setCount(lists.shown.items.length, lists.shown.total);
    news.update();
  }

  /** @param {number} index */
  function open(index) {
    grid.focus(index);
    show(Number(lists.shown.items[index].id));
  }

  /** @param {number} id */
  function show(id) {
    setParameters({ item: id, tab: state.explain ? 'explain' : parameters().get('tab') });
    showItem().catch(toastError);
  }

  /** Opens or closes the dialog of the item in the URL. */
  async function showItem() {
    if (!parameters().get('item')) {
      dialog?.close();
      dialog = null;
      return;
    }
    const { openItem } = await import('./itemdialog.js'); // the wall shows its tiles without it
    const p = parameters();
    const id = Number(p.get('item'));
    if (!id || !element.isConnected) return;
    const index = lists.shown.items.findIndex((item) => Number(item.id) === id);
    dialog ??= openItem({
      session, selection,
      listed: () => requestOf({ ...state, q: state.q }),
      tab: p.get('tab') ?? 'details',
      tabChanged: (tab) => setParameters({ tab }, true),
      step: (from, by) => {
        const { items } = lists.shown;
        const at = items.findIndex((item) => Number(item.id) === from) + by;
        const next = items[at];
        if (!next) return null;
        setParameters({ item: next.id }, true);
        grid.focus(at);
        if (at > items.length - 10) void more();
        return next;
      },
      closed: () => {
        dialog = null;
        setParameters({ item: '', tab: '' });
        const at = grid.active;
        if (grid.element.isConnected && at < lists.shown.items.length) grid.focus(at);
      },
    });
    dialog.show(id, lists.shown.items[index]);
  }

  controls();
  return {
    element, title: 'Wall',
    started: async () => {
      selection.start();
      fill(body, h('div', { class: 'wallskeleton', 'aria-hidden': 'true' }, Array.from({ length: 18 }, () => h('div', null))));
      await load();
      await showItem();
    },
    updated: () => {
      const before = JSON.stringify(state);
      state = read();
      controls();
      if (JSON.stringify(state) !== before) void load();
      showItem().catch(toastError);
    },
    stopped: () => {
      chips.stop();
      selection.stop();
      news.stop();
      lists.stop();
      grid.destroy();
      dialog?.close();
    },
    shortcuts: [
      { keys: '/', text: 'Edit the query', run: () => bar.focus() },
      { keys: 'e', text: 'Explain items', run: () => explain.click() },
      ...(writes ? [
        { keys: 's', text: 'Select items, or stop selecting', run: () => selection.switch.click() },
        { keys: 'z', text: 'Undo the last decision', run: () => selection.undo() },
      ] : []),
      { keys: 'i', text: 'Move to the items', run: () => grid.focus(grid.active) },
      { keys: '← ↑ → ↓', text: 'Select an item' },
      { keys: 'Enter', text: 'Open the item' },
    ],
  };
}
