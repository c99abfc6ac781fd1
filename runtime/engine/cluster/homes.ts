// The home engines of a deployment: determined by rendezvous hashing, so that adding or removing an engine only moves
// the deployments which that engine gains or loses. Pure. Used by placement.ts, and for delivering events to an engine.

/**
 * The homes of a deployment among engines, best first.
 *
 * @param places engines by number; the order does not matter.
 * @example homes('shop/d0123456789ab', [0, 1, 2], 1) // [2]
 */
export function homes(deployment: string, places: readonly number[], count: number): number[] {
  const scored = places.map((place) => ({ place, score: hash(`${place}:${deployment}`) }));
  scored.sort((a, b) => b.score - a.score || a.place - b.place);
  return scored.slice(0, count).map(({ place }) => place);
}

/** FNV-1a, followed by the mixing of MurmurHash3, because FNV-1a alone gives similar scores to similar inputs. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
