// The scenarios that come with the page.

export const READY = {
  "boundary-burst": "The boundary burst of fixed windows",
  "shopify-points": "Shopify points, pessimistic estimates",
  "ten-thousand-jobs": "10,000 jobs at 10 per minute",
  "three-workers": "Three workers, a concurrency limit, a crash",
};

export async function readyScenario(name) {
  const response = await fetch(new URL(`../scenarios/${name}.json`, import.meta.url));
  if (!response.ok) throw new Error(`the scenario ${name} is not there: ${response.status}`);
  return response.json();
}
