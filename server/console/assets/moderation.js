// The moderation page: a queue of items with large pictures. A decision needs only one key press. It applies to one item or to a
// selection, and the user can undo it.

import { may } from './api.js';
import { decided, shown } from './decisions.js';
import { decisionsOf, report } from './desk.js';
import { button, fill, h, icon, select } from './dom.js';
import { allFilters } from './filter.js';
import { Grid } from './grid.js';
import { authorOf, describe, marks, picture, tagText } from './item.js';
import { details, media } from './itemdialog.js';
import { Listings } from './listing.js';
import { News } from './news.js';
import { QueryBar } from './querybar.js';
import { askReason } from './reason.js';
import { reasonRequired } from './rejected.js';
import { parameters, setParameters } from './router.js';
import { chooseTag } from './tagging.js';
import { announce, badge, count, empty, failure, number, openDialog, states, toast, toastError } from './ui.js';

/** @typedef {import('./decisions.js').Entry} Entry */
/** @typedef {import('./decisions.js').Edit} Edit */
/** @typedef {{entry: Entry, saw: import('./item.js').Item}} Target an item with the state that the user sees */

/** @param {import('./shell.js').Context} context @returns {import('./shell.js').Page} */
export function moderationPage({ session }) {
  const decisions = decisionsOf(session);
  const lists = new Listings();
  /** The items of the queue that are loaded. @type {Entry[]} */
  let rows = [];
  let queue = parameters().get('filter') ?? '';
  let q = parameters().get('q') ?? '';
  /** @type {Set<Entry>} */
  const selected = new Set();
  /** Whether failures have changed the selection, and the user has not changed it since. */
  let returned = false;
  /** The index at which a range of the selection starts, or -1 if no range has begun. */
  let anchor = -1;
  /** Whether the user has decided on the last loaded item, so that the focus moves on when the next items are loaded. */
  let waits = false;
  /** What the stage shows. */
  let staged = '';
  const listeners = new AbortController();

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
  const saving = h('span', { class: 'saving muted', role: 'status' });
  const selection = h('span', { class: 'selection' });
  const strip = h('div', { class: 'strips' });
  const body = h('div', { class: 'desk' }, strip, h('div', { class: 'view' }, stage, info));
  const notice = h('div', null);

  const act = {
    approve: button({ icon: 'moderation', text: 'Approve', key: 'a', kind: 'primary', onclick: () => patch((items) => `Approve ${items}`, 'Approved', { approval_status: 'app' }) }),
    reject: button({ icon: 'close', text: 'Reject', key: 'r', kind: 'danger', onclick: () => reject(reasonRequired) }),
    pending: button({ text: 'Pending', key: 'p', onclick: () => patch((items) => `Set ${items} to pending`, 'Set to pending', { approval_status: 'pen' }) }),
    feature: button({ icon: 'star', text: 'Feature', key: 'f', onclick: feature }),
    tag: button({ icon: 'tag', text: 'Tag', key: 't', onclick: askTag }),
    undo: button({ icon: 'undo', text: 'Undo', key: 'z', disabled: decisions.history.length === 0, onclick: undo }),
  };
  const moderates = may(session, 'Moderate');
  const tags = may(session, 'Tag');
  const actions = h('div', { class: 'decisions', role: 'group', 'aria-label': 'Decisions' },
    moderates && [act.approve, act.reject, act.pending, act.feature], tags && act.tag, act.undo, h('span', { class: 'spacer' }), selection, saving, progress);

  const grid = new Grid({
    scroller: strip, minWidth: 84, caption: 0, gap: 6, role: 'listbox', label: 'Queue',
    render: (index, focusable) => {
      const entry = rows[index];
      const item = shown(entry);
      const notes = [`${describe(item)} by ${authorOf(item)}`, entry.steps.length > 0 && 'not saved yet', entry.problem && 'not changed by your last decision', news.gone.has(entry.id) && 'no longer in the queue'];
      return h('div', {
        role: 'option', 'data-focus': true, tabindex: focusable ? '0' : '-1', 'aria-selected': String(selected.has(entry)),
        class: `${item.approval_status}${entry.steps.length > 0 ? ' unsaved' : ''}${entry.problem && ' failed'}${news.gone.has(entry.id) ? ' gone' : ''}`,
        onclick: (/** @type {MouseEvent} */ e) => {
          if (e.shiftKey) chooseTo(index);
          else if (e.ctrlKey || e.metaKey) toggle(index);
          else choose([]);
          grid.focus(index);
        },
      }, h('span', { class: 'hidden' }, notes.filter(Boolean).join(', ')), picture(item, 'small_image'), marks(item), h('span', { class: 'check', 'aria-hidden': 'true' }, icon('moderation')));
    },
    moved: (index) => showItem(index),
    nearEnd: () => void more(),
  });
  grid.element.setAttribute('aria-multiselectable', 'true');
  // The grid has already moved the focus when this listener runs.
  grid.element.addEventListener('keydown', (event) => {
    if (event.shiftKey && event.key.startsWith('Arrow')) chooseTo(grid.active);
  });

  const news = new News({
    session, lists, grid, before: bar.status, load,
    untouched: () => false, // the page shows the current item
  });

  /**
   * Begins a range at the current item when the user presses Shift, and ends it with the first event without Shift.
   * @param {KeyboardEvent | PointerEvent} event
   */
  function range(event) {
    if (!event.shiftKey || ('key' in event && event.key === 'Shift' && !event.repeat)) anchor = -1;
    else if (anchor < 0) anchor = grid.active;
  }

  /** @param {Entry[]} entries the entries to select */
  function choose(entries) {
    const before = [...selected];
    selected.clear();
    for (const entry of entries) selected.add(entry);
    returned = false;
    for (const entry of [...before, ...entries]) grid.tiles.get(rows.indexOf(entry))?.setAttribute('aria-selected', String(selected.has(entry)));
    fill(selection, selected.size > 0 && badge('plain', `${number(selected.size)} selected`), selected.size > 0 && button({ text: 'Clear', kind: 'quiet', onclick: () => choose([]) }));
    if (selected.size > 0) announce(`${number(selected.size)} selected`);
  }

  /** @param {number} index */
  function toggle(index) {
    const entry = rows[index];
    if (entry) choose(selected.has(entry) ? [...selected].filter((e) => e !== entry) : [...selected, entry]);
  }

  /** @param {number} index the end of the range */
  function chooseTo(index) {
    const from = anchor < 0 ? grid.active : anchor;
    choose(rows.slice(Math.min(from, index), Math.max(from, index) + 1));
  }

  function chooseAll() {
    const open = rows.filter((entry) => !decided(entry));
    choose(open);
    if (open.length < rows.length) toast(`${number(open.length)} selected, without the ${count(rows.length - open.length, 'item')} that already ${open.length === rows.length - 1 ? 'has' : 'have'} a decision`);
  }

  /** Returns the items to which a decision applies. */
  function targets() {
    const entries = selected.size > 0 ? rows.filter((entry) => selected.has(entry)) : rows.slice(grid.active, grid.active + 1);
    return entries.map((entry) => ({ entry, saw: shown(entry) }));
  }

  /**
   * Applies a decision, and moves to the next item without a decision.
   * @param {string} text the decision in the past tense, such as Approved
   * @param {Edit} edit
   * @param {Target[]} items
   */
  function decide(text, edit, items) {
    choose([]);
    decisions.decide(text, edit, items);
    const last = Math.max(...items.map(({ entry }) => rows.indexOf(entry)));
    const next = nextAfter(last);
    waits = next < 0 && lists.shown.more;
    grid.focus(next < 0 ? last + 1 : next);
    const open = next < 0 && !lists.shown.more ? left() : 0;
    toast(`${text}: ${count(items.length, 'item')}${open > 0 ? `. This is the end of the queue, and ${count(open, 'item')} before it ${open === 1 ? 'is' : 'are'} left` : ''}`, { action: { text: 'Undo', key: 'z', run: undo } });
  }

  /** @param {number} index returns the index of the next item without a decision, or -1 */
  function nextAfter(index) {
    return rows.findIndex((entry, i) => i > index && !decided(entry));
  }

  /**
   * Decides on the current item or the selection. It asks first if the decision would replace other decisions, or if the user has not made
   * the selection.
   * @param {(items: string) => string} order the decision as an order, such as Approve 2 items
   * @param {string} text
   * @param {Record<string, unknown>} values
   * @param {boolean} [reasoned] whether to ask for a reason
   */
  function patch(order, text, values, reasoned) {
    const items = targets();
    const status = values.approval_status;
    const replaced = items.filter(({ entry, saw }) => status !== undefined && saw.approval_status !== status && decided(entry));
    const run = (/** @type {Target[]} */ list) => (reasoned
      ? askReason(order(count(list.length, 'item')), { closed: () => grid.focus(grid.active), chosen: (reason) => decide(text, { values, reason }, list) })
      : decide(text, { values }, list));
    if (items.length === 0) return;
    if (replaced.length === 0 && !returned) run(items);
    else confirm(order, items, replaced, run);
  }

  /**
   * @param {(items: string) => string} order
   * @param {Target[]} items
   * @param {Target[]} replaced the items that have a decision
   * @param {(items: Target[]) => void} run
   */
  function confirm(order, items, replaced, run) {
    const others = items.filter((target) => !replaced.includes(target));
    const all = count(items.length, 'item');
    const dialog = openDialog(`${order(all)}?`, { closed: () => grid.focus(grid.active) },
      h('form', { class: 'dialogform', onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); go(items); } },
        returned && h('p', null, 'The selection contains items that your last decision did not change.'),
        replaced.length > 0 && h('p', null, `${number(replaced.length)} of ${all} already ${replaced.length === 1 ? 'has' : 'have'} a decision: ${tally(replaced.map(({ saw }) => saw))}.`),
        h('div', { class: 'row end' }, button({ text: 'Cancel', onclick: () => dialog.close() }),
          replaced.length > 0 && others.length > 0 && button({ text: `Only the ${others.length === 1 ? 'other item' : `other ${count(others.length, 'item')}`}`, onclick: () => go(others) }),
          button({ text: order(all), kind: 'primary', type: 'submit' }))));
    /** @param {Target[]} list */
    function go(list) {
      dialog.close();
      run(list);
    }
    /** @type {HTMLElement} */ (dialog.querySelector('[type=submit]')).focus();
  }

  /** @param {import('./item.js').Item[]} items returns the number of items of each approval status in words */
  function tally(items) {
    return Object.entries(states).flatMap(([status, name]) => {
      const n = items.filter((item) => item.approval_status === status).length;
      return n > 0 ? [`${number(n)} ${name.toLowerCase()}`] : [];
    }).join(', ');
  }

  /** @param {boolean} reasoned whether to ask for a reason */
  function reject(reasoned) {
    patch((items) => `Reject ${items}`, 'Rejected', { approval_status: 'rej' }, reasoned);
  }

  function feature() {
    const [first] = targets();
    const featured = !first?.saw.featured;
    patch((items) => `${featured ? 'Feature' : 'Stop featuring'} ${items}`, featured ? 'Featured' : 'No longer featured', { featured });
  }

  function askTag() {
    const items = targets();
    if (items.length === 0) return;
    chooseTag(`Tag ${count(items.length, 'item')}`, { closed: () => grid.focus(grid.active), chosen: (tag) => decide(`Tagged ${tagText(tag)}`, { tag }, items) });
  }

  function undo() {
    const action = decisions.undo();
    if (!action) return;
    waits = false;
    const entries = action.steps.map(({ entry }) => entry);
    const index = rows.findIndex((entry) => entries.includes(entry));
    if (index >= 0) grid.focus(index);
    const [first] = entries;
    toast(`Undone: ${action.text.toLowerCase()}, ${entries.length === 1 ? `item ${first.id} by ${authorOf(first.seen)}` : `${count(entries.length, 'item')} from item ${first.id} on`}`);
    showProgress();
  }

  /** @param {Entry} entry shows the current state of an item */
  function changed(entry) {
    const index = rows.indexOf(entry);
    if (index >= 0) {
      grid.refresh(index);
      if (index === grid.active) showItem(index);
    }
    showProgress();
  }

  /**
   * Reports an action that changed nothing in some items. These items become selected, except those that the session can no longer see, and
   * therefore not decide on.
   * @param {import('./decisions.js').Action} action
   */
  function failed(action) {
    const again = action.failures.map(({ entry }) => entry).filter((entry) => rows.includes(entry) && !entry.left);
    if (again.length > 0) {
      choose([...new Set([...selected, ...again])]);
      returned = true;
    }
    report(action);
  }

  /** Returns the number of items without a decision. */
  function left() {
    return Math.max(0, lists.shown.total - rows.filter(decided).length);
  }

  function showProgress() {
    const { pending, history } = decisions;
    const done = rows.filter(decided).length;
    const open = left();
    act.undo.disabled = history.length === 0;
    fill(saving, pending > 0 ? `Saving ${count(pending, 'decision')}…` : history.length > 0 && 'Saved');
    fill(progress, `${number(Math.min(grid.active + 1, rows.length))} of ${number(lists.shown.total)}`, done > 0 && ` · ${number(done)} decided · ${number(open)} left`);
    const over = rows.length > 0 && open === 0 && pending === 0 && !lists.shown.more ? `All done: ${tally(rows.map(shown))}` : '';
    if (over === (notice.querySelector('.over h2')?.textContent ?? '') || rows.length === 0) return;
    fill(notice, over && h('div', { class: 'over row' }, h('h2', null, over), button({ text: 'Check again', onclick: () => void load() })));
    if (over) announce(over);
  }

  /** @param {number} index */
  function showItem(index) {
    const entry = rows[index];
    if (!entry) return;
    const item = shown(entry);
    const wanted = JSON.stringify([entry.id, item.content]);
    if (staged !== wanted) fill(stage, media(item)); // a video or a picture must not load again when only the status changes
    staged = wanted;
    fill(info, entry.problem && h('p', { class: 'problem' }, icon('warning'), entry.problem), details(item));
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
    const since = decisions.time;
    try {
      if (!await lists.load(source)) return;
    } catch (err) {
      if (bar.showProblem(err)) return;
      fill(notice, failure(err, () => void load()));
      body.hidden = true;
      return;
    }
    rows = lists.shown.items.map((item) => decisions.entry(item, since));
    news.start();
    choose([]);
    anchor = -1;
    waits = false;
    const first = Math.max(0, nextAfter(-1)); // the list can contain items whose decisions are not saved yet
    grid.reset(first);
    fill(bar.status, count(lists.shown.total, 'item'));
    body.hidden = rows.length === 0;
    actions.hidden = rows.length === 0;
    fill(notice, rows.length === 0 && nothing());
    if (!grid.element.isConnected) fill(strip, grid.element);
    grid.setCount(rows.length, lists.shown.total);
    showItem(first);
    if (document.activeElement === document.body || document.activeElement?.tagName === 'H1') grid.focus(first);
  }

  /** Returns an explanation why the queue is empty. */
  function nothing() {
    if (q) return empty('No item in this queue matches', 'Clear the query to see the whole queue.');
    if (queue) return empty('The filter has no items', 'Select another queue.');
    return empty('No items are pending', 'There is nothing to decide at the moment.', button({ text: 'Check again', onclick: () => void load() }));
  }

  async function more() {
    const since = decisions.time;
    if (!await lists.more()) return;
    rows.push(...lists.shown.items.slice(rows.length).map((item) => decisions.entry(item, since)));
    grid.setCount(rows.length, lists.shown.total);
    news.update();
    const next = nextAfter(grid.active);
    if (waits && next >= 0) grid.focus(next);
    waits &&= next < 0;
    showProgress();
  }

  async function start() {
    decisions.changed = changed;
    decisions.failed = failed;
    addEventListener('keydown', range, { capture: true, signal: listeners.signal });
    addEventListener('pointerdown', range, { capture: true, signal: listeners.signal });
    await load();
    try {
      for await (const some of allFilters()) choice.append(...some.map((f) => h('option', { value: f.filter_uuid }, String(f.name))));
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
      decisions.changed = () => {};
      decisions.failed = report;
      listeners.abort();
      news.stop();
      lists.stop();
      grid.destroy();
    },
    shortcuts: [
      ...(moderates ? [
        { keys: 'a', text: 'Approve', run: on(act.approve) },
        { keys: 'r', text: 'Reject', run: on(act.reject) },
        { keys: 'R', text: 'Reject with a reason', run: () => reject(true) },
        { keys: 'p', text: 'Set to pending', run: on(act.pending) },
        { keys: 'f', text: 'Feature the item, or stop featuring it', run: on(act.feature) },
      ] : []),
      ...(tags ? [{ keys: 't', text: 'Tag', run: on(act.tag) }] : []),
      { keys: 'z', text: 'Undo', run: on(act.undo) },
      { keys: 'Space', text: 'Select or deselect the item', run: () => toggle(grid.active) },
      { keys: 'x', text: 'Select or deselect the item, and move to the next', run: () => { toggle(grid.active); grid.focus(grid.active + 1); } },
      { keys: 'A', text: 'Select all loaded items without a decision', run: chooseAll },
      { keys: 'j', text: 'Next item', repeats: true, run: () => grid.focus(grid.active + 1) },
      { keys: 'k', text: 'Previous item', repeats: true, run: () => grid.focus(grid.active - 1) },
      { keys: '← ↑ → ↓', text: 'Move; with Shift, select a range' },
      { keys: 'Escape', text: 'Clear the selection', run: () => choose([]) },
      { keys: '/', text: 'Narrow the queue', run: () => bar.focus() },
    ],
  };
}
