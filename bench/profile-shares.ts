// Computes from a CPU profile of V8 how the thread's working time is divided by the owner of the code. No I/O.

/** What is read of a profile. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples?: readonly number[];
}

/** A part of the time that the thread worked. */
interface Share {
  readonly name: string;
  /** From 0 to 1. */
  readonly share: number;
}

/** Shares by owner, and by function (the larger ones), of a thread that waited the rest of the time. */
export function profileShares(profile: CpuProfile): { readonly owners: Share[]; readonly functions: Share[] } {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const owners = new Map<string, number>();
  const functions = new Map<string, number>();
  let worked = 0;
  for (const sample of profile.samples ?? []) {
    const frame = frames.get(sample);
    if (frame === undefined || frame.functionName === '(idle)') continue;
    worked++;
    const owner = ownerOf(frame.functionName, frame.url);
    owners.set(owner, (owners.get(owner) ?? 0) + 1);
    const name = `${frame.functionName || '(without a name)'} ${placeOf(frame.url)}`.trimEnd();
    functions.set(name, (functions.get(name) ?? 0) + 1);
  }
  const sorted = (counts: ReadonlyMap<string, number>): Share[] =>
    [...counts].map(([name, count]) => ({ name, share: count / worked })).toSorted((a, b) => b.share - a.share);
  return { owners: sorted(owners), functions: sorted(functions) };
}

/** Native functions are system calls for the most part: V8 counts them as their own. */
function ownerOf(name: string, url: string): string {
  if (name === '(garbage collector)') return 'garbage collection';
  if (name === '(program)') return 'native code outside of JavaScript: libuv, V8, the system';
  if (url === '') return 'native functions called by JavaScript';
  if (url.startsWith('node:')) return 'JavaScript of Node';
  const inside = /\/(runtime\/engine\/[a-z]+|core|node_modules)\//.exec(url);
  return `JavaScript of ${inside?.[1] ?? 'others'}`;
}

function placeOf(url: string): string {
  return url.replace(/^.*\/(runtime\/engine|core|bench)\//, '');
}
