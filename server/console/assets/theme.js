// Applies the colour theme that the user chose before the page is painted. It is no module, because modules run later.
try {
  const theme = localStorage.getItem('vitrine.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser allows no storage: the theme of the system stays.
}
