// The decisions of a moderator, from the key press until the server has saved them. This module does not use the DOM.
//
// A decision applies at once on the page. Its requests wait in a queue: one after the other for each item, and for a few items at the same
// time. A request depends on the state that the moderator saw. If the state on the server differs, the request changes nothing, and the
// item returns to the moderator with its current state and the reason.

import { change, Problem, read } from './api.js';
import { states } from './ui.js';

/** @typedef {import('./item.js').Item} Item */

/**
 * What a decision changes in an item: the members in `values`, for a reason if the user has given one, or one tag.
 * @typedef {{values: Record<string, unknown>, reason?: string, tag?: undefined} | {values?: undefined, tag: {namespace: string, key: string}, removes?: boolean}} Edit
 */

/**
 * @typedef {object} Entry an item that the moderator has seen
 * @property {number} id
 * @property {Item} seen the state that the server sent last
 * @property {Step[]} steps what the server has not saved yet, in order
 * @property {string} loaded the approval status with which the queue loaded the item
 * @property {number} own how often the moderator has approved or rejected the item, without what they have undone and what is not saved
 * @property {number} settled the value of Decisions.time when the last step ended
 * @property {string} problem why the last step changed nothing, or ''
 * @property {boolean} left whether a decision has moved the item out of what the token of the session shows
 */

/**
 * @typedef {object} Step the part of an action that concerns one item
 * @property {Entry} entry
 * @property {Action} action
 * @property {Edit} edit
 * @property {Item} saw the item as the moderator saw it
 * @property {Step} [undoes]
 */

/**
 * @typedef {object} Action a decision on one or more items, or the undo of a decision
 * @property {string} text the decision in the past tense, such as Approved
 * @property {Step[]} steps the steps that have changed an item, or are still going to
 * @property {number} open the number of steps that have not ended
 * @property {Failure[]} failures
 * @property {Action} [undoes]
 */

/** @typedef {{entry: Entry, reason: unknown}} Failure */

/** The number of items for which requests are in progress at the same time. */
const parallel = 4;

/** The number of times that a step tries again because another user has changed the item between its two requests. */
const attempts = 5;

/**
 * Returns the item after an edit. Items do not contain their tags.
 * @param {Item} item
 * @param {Edit} edit
 * @returns {Item}
 */
function edited(item, { values }) {
  return { ...item, ...values };
}

/**
 * Returns whether an item is already as an edit makes it.
 * @param {Item} item
 * @param {Edit} edit
 */
function already(item, { values }) {
  return values !== undefined && Object.entries(values).every(([name, value]) => item[name] === value);
}

/**
 * Returns the edit that restores the item as the moderator saw it. If it rejects the item again, it has a reason, which the property can
 * require.
 * @param {Step} step
 * @returns {Edit}
 */
function inverse({ action, edit, saw }) {
  if (!edit.values) return { ...edit, removes: !edit.removes };
  const values = Object.fromEntries(Object.keys(edit.values).map((name) => [name, saw[name]]));
  return { values, reason: values.approval_status === 'rej' ? `Undone: ${action.text.toLowerCase()}` : '' };
}

/**
 * Returns what has changed, in words, between the item that the moderator saw and the item on the server, if an edit depends on it. The
 * approval status also depends on the text and the media: a moderator must not approve what they have not seen.
 * @param {Item} saw
 * @param {Item} now
 * @param {Edit} edit
 */
function changes(saw, now, { values = {} }) {
  const words = Object.keys(values).filter((name) => saw[name] !== now[name]).map((name) => (name === 'featured'
    ? `is ${now.featured ? 'now' : 'no longer'} featured` : `is now ${status(now)} (you saw it ${status(saw)})`));
  if ('approval_status' in values) {
    if (saw.content?.text !== now.content?.text) words.push('has a new text');
    if (saw.content?.media?.original_url !== now.content?.media?.original_url) words.push('has new media');
  }
  return words.join(', and ');
}

/** @param {Item} item */
function status({ approval_status: value }) {
  return (states[value] ?? String(value)).toLowerCase();
}

/**
 * Returns the item with all decisions, even those that the server has not saved yet.
 * @param {Entry} entry
 */
export function shown(entry) {
  return entry.steps.reduce((item, { edit }) => edited(item, edit), entry.seen);
}

/**
 * Returns whether there is a decision on the approval status of an item, by the moderator or by another user.
 * @param {Entry} entry
 */
export function decided(entry) {
  const { approval_status: now } = shown(entry);
  return now !== entry.loaded || (now !== 'pen' && entry.steps.reduce((n, step) => n + weight(step), entry.own) > 0);
}

/** @param {Step} step @returns {number} */
function weight({ edit, undoes }) {
  return undoes ? -weight(undoes) : Number(['app', 'rej'].includes(String(edit.values?.approval_status)));
}

export class Decisions {
  /** The number of times that a step has ended. */
  time = 0;
  /** The number of steps that the server has not saved yet. */
  pending = 0;
  /** The decisions that the moderator can undo. @type {Action[]} */
  history = [];
  /** Is called when an item, or the number of pending steps, has changed. @type {(entry: Entry) => void} */
  changed = () => {};
  /** Is called when an action has ended that changed nothing in at least one item. @type {(action: Action) => void} */
  failed = () => {};
  /** @type {Map<number, Entry>} */
  #entries = new Map();
  /** The entries that have steps but no request in progress. @type {Entry[]} */
  #waiting = [];
  #running = 0;
  /** @type {unknown} */
  #ended = null;

  /**
   * Returns the entry of an item in a list. An entry can be newer than the list.
   * @param {Item} item
   * @param {number} since the value of time when the list was requested
   */
  entry(item, since) {
    const id = Number(item.id);
    let entry = this.#entries.get(id);
    if (!entry) {
      entry = { id, seen: item, steps: [], loaded: item.approval_status, own: 0, settled: 0, problem: '', left: false };
      this.#entries.set(id, entry);
    } else if (entry.steps.length === 0 && entry.settled <= since) {
      Object.assign(entry, { seen: item, loaded: item.approval_status, problem: '', left: false });
    }
    return entry;
  }

  /**
   * Returns whether the decisions on an item are not saved, or were saved since the item was requested.
   * @param {number} id
   * @param {number} since the value of time when the item was requested
   */
  busy(id, since) {
    const entry = this.#entries.get(id);
    return entry !== undefined && (entry.steps.length > 0 || entry.settled > since);
  }

  /**
   * Shows what others have changed in an item since the moderator saw it. An item whose decisions are not saved, or were saved since the
   * request, stays as it is. It returns whether another approval status is shown.
   * @param {Item} item
   * @param {number} since the value of time when the item was requested
   */
  refresh(item, since) {
    const entry = this.#entries.get(Number(item.id));
    if (!entry || this.busy(entry.id, since) || JSON.stringify(entry.seen) === JSON.stringify(item)) return false;
    const decided = entry.seen.approval_status !== item.approval_status;
    entry.seen = item;
    this.changed(entry);
    return decided;
  }

  /**
   * Applies a decision.
   * @param {string} text
   * @param {Edit} edit
   * @param {{entry: Entry, saw: Item}[]} targets the items as the moderator saw them
   */
  decide(text, edit, targets) {
    /** @type {Action} */
    const action = { text, steps: [], open: 0, failures: [] };
    const steps = targets.map((target) => ({ ...target, action, edit }));
    action.steps = steps.filter(({ saw }) => !already(saw, edit));
    if (action.steps.length > 0) this.history.push(action);
    this.#add(action, steps);
  }

  /** Undoes the last decision, and returns it. An item changes only if it still is as the decision has left it. */
  undo() {
    const last = this.history.pop();
    if (!last) return null;
    /** @type {Action} */
    const action = { text: last.text, steps: [], open: 0, failures: [], undoes: last };
    this.#add(action, last.steps.map((step) => ({ entry: step.entry, action, edit: inverse(step), saw: edited(step.saw, step.edit), undoes: step })));
    return last;
  }

  /**
   * Drops all steps, because the session has ended.
   * @param {unknown} reason
   */
  abandon(reason) {
    this.#ended = reason;
    for (const entry of this.#waiting.splice(0)) this.#fail(entry, reason);
  }

  /** @param {Action} action @param {Step[]} steps */
  #add(action, steps) {
    action.open = steps.length;
    this.pending += steps.length;
    for (const step of steps) {
      const { entry } = step;
      entry.problem = '';
      entry.steps.push(step);
      if (entry.steps.length === 1) this.#waiting.push(entry);
      this.changed(entry);
    }
    while (this.#running < parallel && this.#waiting.length > 0) void this.#work();
  }

  async #work() {
    this.#running += 1;
    for (let entry = this.#waiting.shift(); entry; entry = this.#waiting.shift()) {
      const step = entry.steps[0];
      try {
        await this.#save(step);
        entry.steps.shift();
        entry.own += weight(step);
        if (step.undoes) forget(step.undoes);
        if (entry.steps.length > 0) this.#waiting.push(entry);
        this.#end(entry, [step]);
      } catch (reason) {
        this.#fail(entry, reason);
        if (reason instanceof Problem && reason.status === 401) this.abandon(reason);
      }
    }
    this.#running -= 1;
  }

  /**
   * Drops all steps of an item. The later steps depend on the first, which has failed.
   * @param {Entry} entry
   * @param {unknown} reason
   */
  #fail(entry, reason) {
    const steps = entry.steps.splice(0);
    entry.problem = reason instanceof Error ? reason.message : String(reason);
    steps[0].action.failures.push({ entry, reason });
    const temporary = reason instanceof Problem && (reason.status === 0 || reason.status === 429 || reason.status >= 500);
    for (const step of steps) {
      forget(step);
      // If the request can succeed later, the user can undo the decision again.
      if (step.undoes && !temporary) forget(step.undoes);
    }
    this.#end(entry, steps);
  }

  /** @param {Entry} entry @param {Step[]} steps */
  #end(entry, steps) {
    this.time += 1;
    this.pending -= steps.length;
    entry.settled = this.time;
    for (const { action } of steps) {
      action.open -= 1;
      if (action.open > 0) continue;
      if (action.undoes && action.undoes.steps.length > 0) this.history.push(action.undoes);
      if (action.failures.length > 0) this.failed(action);
    }
    this.history = this.history.filter((a) => a.steps.length > 0);
    this.changed(entry);
  }

  /**
   * Saves a step. It throws a Problem if the server does not save the step, if the item is no longer as the moderator saw it, or if an
   * earlier decision has moved it out of what the session shows.
   * @param {Step} step
   */
  async #save(step) {
    const { entry, edit, saw } = step;
    if (entry.left) throw outside(step, unchanged(step));
    if (edit.tag) return this.#tag(step, edit.tag, edit.removes);
    let lost = false; // whether a change got no response, so that the server may have saved it
    for (let attempt = 1; ; attempt++) {
      try {
        const { data, etag } = await this.#send(() => read(`v2/content/${entry.id}`));
        this.#show(entry, data);
        const done = already(data, edit);
        if (done && lost) return;
        const words = changes(saw, data, edit);
        if (words) throw conflict(step, words);
        if (done) {
          forget(step);
          return;
        }
        lost = true;
        const path = `v2/content/${entry.id}${edit.reason ? `?reason=${encodeURIComponent(edit.reason)}` : ''}`;
        const { data: after } = await this.#send(() => change('PATCH', path, edit.values, etag));
        entry.left = after === null;
        this.#show(entry, after ?? edited(data, edit));
        return;
      } catch (err) {
        const status = err instanceof Problem ? err.status : NaN;
        if (lost && missing(err)) throw outside(step, 'The server may have saved the decision.');
        lost &&= status === 0;
        // Another user has changed the item between the two requests, or a request got no response. Read the item again.
        if (attempt < (status === 412 ? attempts : status === 0 ? 2 : 0)) continue;
        throw status === 412 ? conflict(step, 'changes all the time') : err;
      }
    }
  }

  /** @template T @param {() => Promise<T>} request */
  async #send(request) {
    if (this.#ended) throw this.#ended;
    return request();
  }

  /** @param {Entry} entry @param {Item} item */
  #show(entry, item) {
    entry.seen = item;
    this.changed(entry);
  }

  /**
   * Sets or removes a tag. This needs no condition, because the request changes only this tag. A tag that another user has already set is
   * not the moderator's, so there is nothing to undo.
   * @param {Step} step
   * @param {{namespace: string, key: string}} tag
   * @param {boolean} [removes]
   */
  async #tag(step, { namespace, key }, removes) {
    const { entry } = step;
    if (removes) {
      try {
        await this.#send(() => change('DELETE', `v1/tags/${encodeURIComponent(namespace)}/${encodeURIComponent(key)}/${entry.id}`));
      } catch (err) {
        if (!missing(err)) throw err;
        // The item no longer has the tag, so that there is nothing to remove, or the session no longer sees the item.
        await this.#send(() => read(`v2/content/${entry.id}`)).catch((reason) => { throw missing(reason) ? outside(step, unchanged(step)) : reason; });
        forget(step);
      }
      return;
    }
    const { data } = await this.#send(() => read(`v2/content/items/${entry.id}/sources`));
    const stored = namespace === 'hashtags' ? key.replace(/^#/, '').toLowerCase() : key;
    const set = data.tags.some((/** @type {any} */ t) => t.namespace === namespace && t.key === stored && t.sources.some((/** @type {any} */ s) => s.kind === 'caller'));
    if (set) forget(step);
    else await this.#send(() => change('POST', 'v1/tags/', { ugc_ids: [entry.id], namespace, key }));
  }
}

/** @param {Step} step removes the step from its action, because there is nothing to undo */
function forget(step) {
  step.action.steps = step.action.steps.filter((s) => s !== step);
}

/** @param {unknown} err */
function missing(err) {
  return err instanceof Problem && err.status === 404;
}

/** @param {Step} step @param {string} words what became of the step, whose item is not visible since a decision on it */
function outside({ entry }, words) {
  return new Problem(404, { title: 'The item is no longer visible', detail: `Since your decision, your access token does not show item ${entry.id}. ${words}` });
}

/** @param {Step} step */
function unchanged({ undoes }) {
  return undoes ? 'The decision was not undone.' : 'Your decision changed nothing.';
}

/** @param {Step} step @param {string} words why the step changes nothing */
function conflict(step, words) {
  return new Problem(409, { title: 'Changed by another user', detail: `Item ${step.entry.id} ${words}. ${unchanged(step)}` });
}
