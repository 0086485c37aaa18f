// Applies the colour theme of the user before the browser paints the page. This file is not a module, because modules run later.
try {
  const theme = localStorage.getItem('vitrine.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser allows no storage, so the theme of the system applies.
}
