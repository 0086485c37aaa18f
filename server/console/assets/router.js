// Keeps the state of a page in its URL, so that users can share a wall and can use the Back and Forward buttons of the browser.

/** The path of the console. The server uses no other path for the console, and the browser sends the cookie only below this path. */
export const base = '/console/';

/** Returns the name of the current page, which is the path below the console. */
export function pageName() {
  return location.pathname.slice(base.length).replace(/\/$/, '') || 'wall';
}

/** Returns the parameters of the current page. */
export function parameters() {
  return new URLSearchParams(location.search);
}

/**
 * Returns the URL of a page of the console.
 * @param {string} page
 * @param {Record<string, string | number | boolean | null | undefined>} [values]
 */
export function href(page, values = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) params.set(name, value === true ? '1' : String(value));
  }
  const text = params.toString();
  return base + page + (text && `?${text}`);
}

/** Dispatches `navigate` after a navigation to another URL. */
export const navigation = new EventTarget();

/**
 * Navigates to a URL of the console.
 * @param {string} url
 */
export function go(url) {
  history.pushState(null, '', url);
  navigation.dispatchEvent(new Event('navigate'));
}

/**
 * Changes parameters of the current page without navigation. The value '' removes a parameter.
 * @param {Record<string, string | number | boolean | null | undefined>} values
 * @param {boolean} [replace] whether to replace the current entry of the browser history
 */
export function setParameters(values, replace = false) {
  const all = { ...Object.fromEntries(parameters()), ...values };
  const url = href(pageName(), all);
  if (url === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
}

/** Starts to handle clicks on links and the Back and Forward buttons of the browser. */
export function startRouter() {
  addEventListener('popstate', () => navigation.dispatchEvent(new Event('navigate')));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.origin !== location.origin || !link.pathname.startsWith(base)) return;
    event.preventDefault();
    go(link.href);
  });
}
