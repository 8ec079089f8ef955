// The preset scenarios of the page.

export const PRESETS = {
  "boundary-burst": "The boundary burst of fixed windows",
  "shopify-points": "Shopify points, pessimistic estimates",
  "ten-thousand-jobs": "10,000 jobs at 10 per minute",
  "three-workers": "Three workers, a concurrency limit, a crash",
};

export async function loadPreset(name) {
  const response = await fetch(new URL(`../scenarios/${name}.json`, import.meta.url));
  if (!response.ok) throw new Error(`the scenario ${name} cannot be loaded: ${response.status}`);
  return response.json();
}
