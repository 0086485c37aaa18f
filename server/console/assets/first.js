// What the page needs before it has loaded its modules. The server puts this script into the page itself. It is not a module, because
// browsers run modules later.

// Apply the user's color theme before the browser paints the page.
try {
  const theme = localStorage.getItem('vitrine.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser does not allow storage, so the theme of the system applies.
}
{
  /** The answers to the first requests of the page, by URL; null after a failure. @type {Record<string, Promise<import('./api.js').Exchange | null>>} */
  const early = {};
  Object.assign(window, { early });
  const ask = (/** @type {string} */ path, /** @type {string} */ session) => {
    const start = performance.now();
    early[path] = fetch(path, { credentials: 'same-origin', redirect: 'error', headers: { 'X-Vitrine-Console': session } })
      .then(async (response) => ({ response, text: await response.text(), ms: performance.now() - start })).catch(() => null);
    return early[path];
  };
  // Request the session while the modules load. A login, which is on another page or has a code in the fragment, begins another session.
  if (location.hash === '' && !location.pathname.endsWith('/login')) {
    void ask('/console/session', '1').then((answer) => {
      // Then request what the wall shows, if it has no parameters.
      if (answer?.response.status === 200 && /^\/console\/(wall)?$/.test(location.pathname) && location.search === '') {
        void ask('/console/api/v2/content/items?q=*%3A*&page_size=30', JSON.parse(answer.text).id);
      }
    });
  }
}
