// The moderation page: a queue of items with large pictures. A decision needs only one key press. It applies to one item or to a
// selection, and the user can undo it.

import { change, eachOf, get, Problem } from './api.js';
import { button, fill, h, icon, select } from './dom.js';
import { allFilters } from './filters.js';
import { Grid } from './grid.js';
import { authorOf, describe, marks, picture, splitTag, tagsOf } from './item.js';
import { details, media } from './itemdialog.js';
import { Listings } from './listing.js';
import { QueryBar } from './querybar.js';
import { parameters, setParameters } from './router.js';
import { announce, badge, count, empty, failure, number, openDialog, toast, toastError } from './ui.js';

/** @typedef {import('./item.js').Item} Item */

/**
 * @typedef {object} Action a decision that was applied, with the data for undoing it
 * @property {string} text
 * @property {Item[]} items the items before the decision
 * @property {(item: Item) => Promise<Item>} revert undoes the decision for an item, and returns the current item
 */

/** The problem type for an undo that would overwrite the decision of another user. */
const changedByOthers = 'changed-by-others';

/** @returns {import('./shell.js').Page} */
export function moderationPage() {
  const lists = new Listings();
  let queue = parameters().get('filter') ?? '';
  let q = parameters().get('q') ?? '';
  /** @type {Set<number>} */
  const selected = new Set();
  /** The index at which a range of the selection starts. */
  let anchor = 0;
  /** @type {Action[]} */
  const history = [];
  let busy = false;
  let decided = 0;
  let lastTag = '';

  const choice = select([['', 'Pending items']], '', (value) => {
    queue = value;
    restart();
  });
  choice.setAttribute('aria-label', 'Queue');
  const bar = new QueryBar({ value: q, label: 'Narrow the queue', placeholder: 'Narrow the queue, for example content_type:video', changed: (value) => {
    q = value;
    restart();
  } });
  const stage = h('div', { class: 'stage' });
  const info = h('div', { class: 'info' });
  const progress = h('span', { class: 'progress muted' });
  const selection = h('span', { class: 'selection' });
  const strip = h('div', { class: 'strips' });
  const body = h('div', { class: 'desk' }, strip, h('div', { class: 'view' }, stage, info));
  const notice = h('div', null);

  const act = {
    approve: button({ icon: 'moderation', text: 'Approve', key: 'a', kind: 'primary', onclick: () => void patch('Approved', { approval_status: 'app' }) }),
    reject: button({ icon: 'close', text: 'Reject', key: 'r', kind: 'danger', onclick: () => void patch('Rejected', { approval_status: 'rej' }) }),
    pending: button({ text: 'Pending', key: 'p', onclick: () => void patch('Set to pending', { approval_status: 'pen' }) }),
    feature: button({ icon: 'star', text: 'Feature', key: 'f', onclick: () => void feature() }),
    tag: button({ icon: 'tag', text: 'Tag', key: 't', onclick: askTag }),
    undo: button({ icon: 'undo', text: 'Undo', key: 'z', disabled: true, onclick: () => void undo() }),
  };
  const actions = h('div', { class: 'decisions', role: 'group', 'aria-label': 'Decisions' }, Object.values(act), h('span', { class: 'spacer' }), selection, progress);

  const grid = new Grid({
    scroller: strip, minWidth: 84, caption: 0, gap: 6, role: 'listbox', label: 'Queue',
    render: (index, focusable) => {
      const item = lists.shown.items[index];
      return h('div', {
        role: 'option', 'data-focus': true, tabindex: focusable ? '0' : '-1', 'aria-selected': String(selected.has(index)),
        'aria-posinset': index + 1, 'aria-setsize': lists.shown.total, class: item.approval_status,
        onclick: (/** @type {MouseEvent} */ e) => {
          if (e.shiftKey) selectRange(anchor, index);
          else if (e.ctrlKey || e.metaKey) toggle(index);
          else clear();
          if (!e.shiftKey) anchor = index;
          grid.focus(index);
        },
      }, h('span', { class: 'hidden' }, `${describe(item)} by ${authorOf(item)}`), picture(item, 'small_image'), marks(item), h('span', { class: 'check', 'aria-hidden': 'true' }, icon('moderation')));
    },
    moved: (index) => showItem(index),
    nearEnd: () => void more(),
  });
  grid.element.setAttribute('aria-multiselectable', 'true');
  // Shift and an arrow key select the range up to the item to which the grid has moved the focus.
  grid.element.addEventListener('keydown', (event) => {
    if (event.shiftKey && event.key.startsWith('Arrow')) queueMicrotask(() => selectRange(anchor, grid.active));
    else if (event.key.startsWith('Arrow')) queueMicrotask(() => { anchor = grid.active; });
  });

  /** @param {number[]} indexes */
  function changed(indexes) {
    for (const index of indexes) grid.tiles.get(index)?.setAttribute('aria-selected', String(selected.has(index)));
    fill(selection, selected.size > 0 && badge('plain', `${number(selected.size)} selected`), selected.size > 0 && button({ text: 'Clear', kind: 'quiet', onclick: clear }));
    if (selected.size > 0) announce(`${number(selected.size)} selected`);
  }

  /** @param {number} index */
  function toggle(index) {
    if (!selected.delete(index)) selected.add(index);
    changed([index]);
  }

  /** @param {number} a @param {number} b */
  function selectRange(a, b) {
    const before = [...selected];
    selected.clear();
    for (let i = Math.min(a, b); i <= Math.max(a, b); i++) selected.add(i);
    changed([...before, ...selected]);
  }

  function clear() {
    const before = [...selected];
    selected.clear();
    changed(before);
  }

  /** Returns the items to which a decision applies. */
  function targets() {
    const indexes = selected.size > 0 ? [...selected].sort((a, b) => a - b) : lists.shown.items.length > 0 ? [grid.active] : [];
    return indexes.map((index) => lists.shown.items[index]);
  }

  /** @param {Item} item */
  function indexOf(item) {
    return lists.shown.items.findIndex((i) => i.id === item.id);
  }

  /** @param {Item} item @param {Item} now */
  function replace(item, now) {
    const index = indexOf(item);
    if (index < 0) return;
    lists.shown.items[index] = now;
    grid.refresh(index);
    if (index === grid.active) showItem(index);
  }

  /**
   * Applies a decision to items and moves to the next item. If a decision on a selection fails for some items, these items stay selected.
   * @param {string} text the decision in the past tense, such as Approved
   * @param {(item: Item) => Promise<Item>} apply returns the changed item
   * @param {(item: Item, applied: Item) => Promise<Item>} revert undoes the decision for an item, and returns the current item
   * @param {Item[]} [items]
   */
  async function decide(text, apply, revert, items = targets()) {
    if (items.length === 0 || busy) return;
    busy = true;
    grid.element.setAttribute('aria-busy', 'true');
    /** @type {Map<Item, Item>} */
    const applied = new Map();
    const failed = await eachOf(items, async (item) => {
      const now = await apply(item);
      applied.set(item, now);
      replace(item, now);
    });
    busy = false;
    grid.element.removeAttribute('aria-busy');
    const before = [...selected];
    selected.clear();
    if (before.length > 0) for (const { value } of failed) if (indexOf(value) >= 0) selected.add(indexOf(value));
    changed([...before, ...selected]);
    if (applied.size > 0) {
      history.push({ text, items: [...applied.keys()], revert: (item) => revert(item, applied.get(item) ?? item) });
      act.undo.disabled = false;
      decided += applied.size;
      grid.focus(Math.min(Math.max(...items.map(indexOf)) + 1, lists.shown.items.length - 1));
      toast(`${text}: ${count(applied.size, 'item')}`, { action: { text: 'Undo', key: 'z', run: () => void undo() } });
      showProgress();
    }
    if (failed.length > 0) report(failed);
  }

  /** @param {{reason: unknown}[]} failed */
  function report(failed) {
    const { reason } = failed[0];
    if (failed.length === 1) toastError(reason);
    else toastError(new Problem(reason instanceof Problem ? reason.status : 0, { title: `${count(failed.length, 'item')} not changed`, detail: reason instanceof Error ? reason.message : String(reason) }));
  }

  /**
   * @param {string} text
   * @param {Record<string, unknown>} values
   */
  function patch(text, values) {
    const send = async (/** @type {Item} */ item, /** @type {Record<string, unknown>} */ body) => (await change('PATCH', `v2/content/${item.id}`, body)).data;
    return decide(text, (item) => send(item, values), async (item, applied) => {
      const now = (await get(`v2/content/${item.id}`)).data;
      if (Object.keys(values).some((k) => now[k] !== applied[k])) throw changedSince(now);
      return send(item, Object.fromEntries(Object.keys(values).map((k) => [k, item[k]])));
    });
  }

  /**
   * Shows the current state of an item whose decision cannot be undone, and returns the reason.
   * @param {Item} now
   */
  function changedSince(now) {
    replace(now, now);
    return new Problem(409, { type: changedByOthers, title: 'Changed by another user', detail: `Item ${now.id} has changed since your decision. The decision was not undone.` });
  }

  function feature() {
    const first = targets()[0];
    if (!first) return;
    return patch(first.featured ? 'No longer featured' : 'Featured', { featured: !first.featured });
  }

  function askTag() {
    const items = targets();
    if (items.length === 0) return;
    const input = h('input', { type: 'text', id: 'tagname', value: lastTag, placeholder: 'summer', spellcheck: 'false', autocomplete: 'off', 'aria-describedby': 'taghelp' });
    const dialog = openDialog(`Tag ${count(items.length, 'item')}`, {},
      h('form', { class: 'dialogform', onsubmit: (/** @type {Event} */ e) => {
        e.preventDefault();
        const text = input.value.trim();
        if (text === '') return;
        lastTag = text;
        dialog.close();
        void tag(items, splitTag(text));
      } }, h('label', { for: 'tagname' }, 'Tag'), input, h('p', { class: 'muted', id: 'taghelp' }, 'Type a key of the namespace marketer_tags, or namespace:key.'),
      h('div', { class: 'row end' }, button({ text: 'Cancel', onclick: () => dialog.close() }), button({ text: 'Set the tag', kind: 'primary', type: 'submit' }))));
    input.focus();
    input.select();
  }

  /** @param {Item[]} items @param {{namespace: string, key: string}} tag */
  function tag(items, { namespace, key }) {
    const path = `v1/tags/${encodeURIComponent(namespace)}/${encodeURIComponent(key)}/`;
    const has = (/** @type {Item} */ item) => tagsOf(item).some((t) => t.namespace === namespace && t.key === key);
    const again = async (/** @type {Item} */ item) => (await get(`v2/content/${item.id}`)).data;
    return decide(`Tagged ${key}`, async (item) => {
      await change('POST', 'v1/tags/', { ugc_ids: [item.id], namespace, key });
      return again(item).catch(() => item); // the item has the tag, even if this request for the item fails
    }, async (item) => {
      if (has(item)) return again(item);
      await change('DELETE', path + item.id);
      return again(item).catch(() => item);
    }, items);
  }

  async function undo() {
    if (busy) return;
    const last = history.pop();
    if (!last) return;
    act.undo.disabled = true;
    busy = true;
    const failed = await eachOf(last.items, async (item) => replace(item, await last.revert(item)));
    busy = false;
    const again = failed.filter(({ reason }) => !(reason instanceof Problem && reason.type === changedByOthers)).map(({ value }) => value);
    if (again.length > 0) history.push({ ...last, items: again });
    act.undo.disabled = history.length === 0;
    decided -= last.items.length - failed.length;
    if (failed.length > 0) report(failed);
    else toast(`Undone: ${last.text.toLowerCase()}`);
    grid.focus(grid.active);
    showProgress();
  }

  function showProgress() {
    fill(progress, `${number(Math.min(grid.active + 1, lists.shown.items.length))} of ${number(lists.shown.total)}`, decided > 0 && ` · ${number(decided)} decided`);
  }

  /** @param {number} index */
  function showItem(index) {
    const item = lists.shown.items[index];
    if (!item) return;
    fill(stage, media(item));
    fill(info, details(item));
    showProgress();
  }

  /** Returns the source of the queue. */
  function source() {
    if (queue) return { filter: queue, q };
    return { q: q ? `approval_status:pen AND (${q})` : 'approval_status:pen', sort_by: 'created_on:asc' };
  }

  function restart() {
    setParameters({ filter: queue, q }, true);
    void load();
  }

  async function load() {
    try {
      if (!await lists.load(source)) return;
    } catch (err) {
      if (bar.showProblem(err)) return;
      fill(notice, failure(err, () => void load()));
      body.hidden = true;
      return;
    }
    selected.clear();
    changed([]);
    anchor = 0;
    grid.reset();
    fill(bar.status, count(lists.shown.total, 'item'));
    body.hidden = lists.shown.items.length === 0;
    actions.hidden = lists.shown.items.length === 0;
    fill(notice, lists.shown.items.length === 0 && nothing());
    if (!grid.element.isConnected) fill(strip, grid.element);
    grid.setCount(lists.shown.items.length);
    showItem(0);
    if (document.activeElement === document.body || document.activeElement?.tagName === 'H1') grid.focus(0);
  }

  /** Returns an explanation why the queue is empty. */
  function nothing() {
    if (q) return empty('No item in this queue matches', 'Clear the query to see the whole queue.');
    if (queue) return empty('The filter has no items', 'Select another queue.');
    return empty('No items are pending', 'There is nothing to decide at the moment.', button({ text: 'Check again', onclick: () => void load() }));
  }

  async function more() {
    if (await lists.more()) grid.setCount(lists.shown.items.length);
  }

  async function start() {
    await load();
    try {
      for (const f of await allFilters()) choice.append(h('option', { value: f.filter_uuid }, String(f.name)));
      choice.value = queue;
    } catch (err) {
      toastError(err);
    }
  }

  const on = (/** @type {HTMLButtonElement} */ b) => () => {
    if (!b.disabled) b.click();
  };
  return {
    element: h('div', { class: 'page moderation' },
      h('div', { class: 'deskhead' }, h('h1', { tabindex: '-1' }, 'Moderation'), choice, bar.element), actions, notice, body),
    title: 'Moderation',
    started: start,
    stopped: () => {
      lists.stop();
      grid.destroy();
    },
    shortcuts: [
      { keys: 'a', text: 'Approve', run: on(act.approve) },
      { keys: 'r', text: 'Reject', run: on(act.reject) },
      { keys: 'p', text: 'Set to pending', run: on(act.pending) },
      { keys: 'f', text: 'Feature the item, or stop featuring it', run: on(act.feature) },
      { keys: 't', text: 'Tag', run: on(act.tag) },
      { keys: 'z', text: 'Undo', run: on(act.undo) },
      { keys: 'Space', text: 'Select or deselect the item', run: () => toggle(grid.active) },
      { keys: 'x', text: 'Select or deselect the item, and move to the next', run: () => { toggle(grid.active); grid.focus(grid.active + 1); } },
      { keys: 'A', text: 'Select all loaded items', run: () => selectRange(0, lists.shown.items.length - 1) },
      { keys: 'j', text: 'Next item', run: () => grid.focus(grid.active + 1) },
      { keys: 'k', text: 'Previous item', run: () => grid.focus(grid.active - 1) },
      { keys: '← ↑ → ↓', text: 'Move; with Shift, select a range' },
      { keys: 'Escape', text: 'Clear the selection', run: clear },
      { keys: '/', text: 'Narrow the queue', run: () => bar.focus() },
    ],
  };
}
