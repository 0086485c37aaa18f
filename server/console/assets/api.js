// Calls the public HTTP API through the console's server, which adds the token of the session.

import { base } from './router.js';

/** An error response, or the error for a missing response. */
export class Problem extends Error {
  /**
   * @param {number} status 0 if there was no response
   * @param {Record<string, any>} document the problem document (RFC 9457)
   */
  constructor(status, document) {
    super(document.detail || document.title || `The server answered with status ${status}.`);
    this.status = status;
    this.title = /** @type {string} */ (document.title || (status === 0 ? 'The server does not respond' : `Status ${status}`));
    this.type = String(document.type ?? '').replace(/.*\//, '');
    this.parameter = /** @type {string | undefined} */ (document.parameter);
    this.position = /** @type {number | undefined} */ (document.position);
  }
}

/**
 * A session, or the session that a login can begin. Only a session that has begun has an id. Only the session of a named person has a user.
 * @typedef {{id?: string, user?: string, class: 'READ-WRITE' | 'READ-ONLY', property: string, actions: Action[], expires?: string | null}} Session
 */

/**
 * A group of operations that a token can allow.
 * @typedef {'AddItems' | 'Moderate' | 'Tag' | 'ManageFilters' | 'ReadPrivate' | 'Export' | 'Import' | 'Erase'} Action
 */

/** The session that the page shows. @type {Session | null} */
let current = null;

/**
 * Returns the public ID of the session that the page shows. All tabs share one cookie, so the server rejects a call of the API if the
 * cookie contains another session.
 */
function shown() {
  return current?.id ?? '1';
}

/** Dispatches `signedout` when the server no longer accepts the session. */
export const sessionEvents = new EventTarget();

/** Notifies the other tabs when a session has ended. */
const tabs = new BroadcastChannel('vitrine-console');
tabs.addEventListener('message', (event) => {
  if (event.data === shown()) sessionEvents.dispatchEvent(new Event('signedout'));
});

/** The parameters of a request. @typedef {Record<string, string | number | string[] | null | undefined>} Parameters */

/**
 * @typedef {object} Answer
 * @property {any} data the decoded body; null if there is none
 * @property {string[]} warnings warnings of the server about a suspicious query
 * @property {number} ms the time until the response was complete
 * @property {string} etag the ETag of the body, or ''
 * @property {number} status
 */

/**
 * Sends one request. With `patient`, it repeats a request that exceeds the rate limit. It throws a Problem, or an AbortError if the signal
 * is aborted. A request in the `background` does not keep the session alive.
 * @param {string} method
 * @param {string} path below /console/
 * @param {{query?: Parameters, body?: unknown, signal?: AbortSignal, ifMatch?: string, ifNoneMatch?: string, patient?: boolean, background?: boolean}} [options]
 * @param {number} [retries] the number of times that the request was repeated
 * @returns {Promise<Answer>}
 */
export async function send(method, path, options = {}, retries = 0) {
  const { query, body, signal, ifMatch, ifNoneMatch, patient, background } = options;
  const start = performance.now();
  const sender = path.startsWith('api/') ? shown() : '1';
  const url = base + path + search(query);
  let exchange = method === 'GET' ? await takeEarly(url) : null;
  try {
    signal?.throwIfAborted();
    if (!exchange) {
      const response = await fetch(url, {
        method, signal, credentials: 'same-origin', redirect: 'error',
        headers: { 'X-Vitrine-Console': sender, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...(ifMatch ? { 'If-Match': ifMatch } : {}),
          ...(ifNoneMatch ? { 'If-None-Match': ifNoneMatch } : {}), ...(background ? { 'X-Vitrine-Background': '1' } : {}) },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      exchange = { response, text: await response.text(), ms: performance.now() - start };
    }
  } catch (err) {
    if (signal?.aborted) throw err;
    throw new Problem(0, { title: 'The server does not respond', detail: 'Check the connection, and try again.' });
  }
  const { response, text, ms } = exchange;
  let data = null;
  try {
    data = text === '' ? null : JSON.parse(text);
  } catch {
    data = null;
  }
  if (!response.ok && response.status !== 304) {
    const problem = new Problem(response.status, data ?? {});
    if (path.startsWith('api/') && problem.type === 'class-refused') await renew();
    if (response.status === 401 && path.startsWith('api/') && sender === shown()) sessionEvents.dispatchEvent(new Event('signedout'));
    if (response.status === 429 && patient && retries < maxRetries) {
      await pause(Number(response.headers.get('Retry-After') ?? NaN), signal);
      return send(method, path, options, retries + 1);
    }
    throw problem;
  }
  const warnings = (response.headers.get('Warning') ?? '').split(/,\s*(?=299 )/)
    .map((w) => /^299 \S+ "(.*)"$/.exec(w)?.[1].replace(/\\(.)/g, '$1') ?? '').filter(Boolean);
  // A proxy that compresses a response makes its ETag weak, but If-Match needs a strong one. The server's own ETags are strong.
  const etag = (response.headers.get('ETag') ?? '').replace(/^W\//, '');
  return { data, warnings, ms, etag, status: response.status };
}

/** A response, its body, and the time until it was complete. @typedef {{response: Response, text: string, ms: number}} Exchange */

/**
 * Returns the response to a request that first.js has sent, or null if it has not sent this request or received no response. The response
 * is used only once.
 * @param {string} url
 */
function takeEarly(url) {
  const { early } = /** @type {{early: Record<string, Promise<Exchange | null> | undefined>}} */ (/** @type {any} */ (window));
  const exchange = early[url];
  delete early[url];
  return exchange ?? null;
}

const maxRetries = 3;

/**
 * Waits for the time in Retry-After: at most 10 seconds, or 1 second if the value is not a number. It throws an AbortError if the signal
 * is aborted.
 * @param {number} seconds
 * @param {AbortSignal} [signal]
 */
function pause(seconds, signal) {
  return new Promise((done, abort) => {
    signal?.throwIfAborted();
    const timer = setTimeout(done, 1000 * (Number.isFinite(seconds) ? Math.max(0, Math.min(seconds, 10)) : 1));
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      abort(signal.reason);
    });
  });
}

/**
 * Encodes the parameters that have a value as a query string. A list becomes one parameter for each value.
 * @param {Parameters} [query]
 */
export function search(query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && (one !== '' || Array.isArray(value))) params.append(name, String(one));
  }
  const text = params.toString();
  return text && `?${text}`;
}

/**
 * Reads from the public API.
 * @param {string} path such as `v2/content/items`
 * @param {Parameters} [query]
 * @param {AbortSignal} [signal]
 */
export function get(path, query, signal) {
  return send('GET', `api/${path}`, { query, signal });
}

/**
 * Reads from the public API, and repeats the request if it exceeds the rate limit.
 * @param {string} path
 */
export function read(path) {
  return send('GET', `api/${path}`, { patient: true });
}

/**
 * Follows a link of a response, such as `_links.next`. A link can begin with the path of the server's external URL.
 * @param {string} href
 * @param {{signal?: AbortSignal, patient?: boolean, background?: boolean}} [options]
 */
export function follow(href, options) {
  const url = new URL(href, location.href);
  const path = url.pathname.replace(/^.*?\/(?=v[12]\/)/, '');
  return send('GET', `api/${path}${url.search}`, options);
}

/**
 * Reads all pages of a list, one after the other. It repeats a request that exceeds the rate limit.
 * @param {string} path
 * @param {Parameters} query
 */
export async function* pages(path, query) {
  let { data } = await send('GET', `api/${path}`, { query, patient: true });
  yield data;
  while (data._links?.next) {
    ({ data } = await follow(data._links.next.href, { patient: true }));
    yield data;
  }
}

/**
 * Returns the number of items that match a query.
 * @param {string} q
 * @param {{filter?: string, signal?: AbortSignal}} [options] the filter in which to count
 * @returns {Promise<number>}
 */
export async function countItems(q, { filter, signal } = {}) {
  // A list would also send an item, so count the values of a field that every item has.
  return (await send('GET', 'api/v2/content/facets', { query: { field: 'approval_status', size: 1, q, filter }, signal, patient: true })).data.total;
}

/**
 * Sends a change to the public API, and repeats it if it exceeds the rate limit.
 * @param {'POST' | 'PUT' | 'PATCH' | 'DELETE'} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {string} [ifMatch] the ETag of the state to change. If there is another state, the server changes nothing, and answers 412.
 */
export function change(method, path, body, ifMatch) {
  return send(method, `api/${path}`, { body, ifMatch, patient: true });
}

/**
 * Runs a task for each value, a few at a time. It returns the values whose tasks failed, with the reasons. When the session has ended, it
 * starts no further tasks, and reports the values of these tasks as failed.
 * @template T
 * @param {T[]} values
 * @param {(value: T) => Promise<unknown>} task
 * @returns {Promise<{value: T, reason: unknown}[]>}
 */
export async function eachOf(values, task) {
  const waiting = values.slice();
  /** @type {{value: T, reason: unknown}[]} */
  const failed = [];
  const worker = async () => {
    for (let value = waiting.shift(); value !== undefined; value = waiting.shift()) {
      try {
        await task(value);
      } catch (reason) {
        failed.push({ value, reason });
        if (reason instanceof Problem && reason.status === 401) failed.push(...waiting.splice(0).map((rest) => ({ value: rest, reason })));
      }
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return failed;
}

/**
 * Returns a curl command for a request to the public API. Instead of the token, the command contains a variable.
 * @param {string} path
 * @param {Parameters} [query]
 */
export function curl(path, query) {
  const url = new URL(`/${path}${search(query)}`, location.href).href;
  return `curl -H "Authorization: Bearer $TOKEN" '${url.replaceAll("'", '%27')}'`;
}

/**
 * Returns the session, or null if the user has to log in.
 * @returns {Promise<Session | null>}
 */
export async function session() {
  const { data } = await send('GET', 'session');
  return data && show(data);
}

/**
 * @param {{token: string} | {code: string} | {as: string}} by
 * @returns {Promise<Session>}
 */
export async function logIn(by) {
  return show((await send('POST', 'session', { body: by })).data);
}

/**
 * Returns the name of the identity provider and the URL of the page where it works, or null if there is no provider.
 * @returns {Promise<{provider: string, page: string} | null>}
 */
export async function identityProvider() {
  return (await send('GET', 'oidc')).data;
}

/** Begins a login through the identity provider. It returns the URL of the provider. @returns {Promise<string>} */
export async function beginLogin() {
  return (await send('POST', 'oidc')).data.url;
}

/**
 * The AccessTokens that name a person. The person must choose one.
 * @typedef {{user: string, choices: (Session & {as: string, name: string})[]}} Choices
 */

/**
 * Logs in the person whom the identity provider has sent back. It returns null if the session has begun.
 * @param {{code: string | null, state: string | null, error: string | null}} authorization
 * @returns {Promise<Choices | null>}
 */
export async function authorize(authorization) {
  const { data } = await send('POST', 'session', { body: { authorization } });
  if (data.choices) return data;
  show(data);
  return null;
}

/** @param {Session} session */
function show(session) {
  current = session;
  return session;
}

/** Updates the rights of the session that the page shows. The server has refused a request, so the token may allow less than before. */
async function renew() {
  const data = await send('GET', 'session').then((answer) => answer.data, () => null);
  if (current && data?.id === current.id) Object.assign(current, data);
}

/**
 * Returns whether the token of a session is a READ-WRITE token that allows one of the actions. Without actions, every READ-WRITE token
 * will do.
 * @param {Session} session
 * @param {...Action} actions
 */
export function may(session, ...actions) {
  return session.class === 'READ-WRITE' && (actions.length === 0 || actions.some((action) => session.actions.includes(action)));
}

/**
 * Returns the session that a one-time code can begin. The code stays valid.
 * @param {string} code
 * @returns {Promise<Session>}
 */
export async function lookUp(code) {
  return (await send('POST', 'codes/lookup', { body: { code } })).data;
}

/** Ends the session in this tab and all other tabs. */
export async function logOut() {
  await send('DELETE', 'session');
  tabs.postMessage(shown());
}
