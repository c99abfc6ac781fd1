// What skew-protection.test.ts adds to the apps of two frameworks: a page with a script that is loaded when it is
// wanted, a function on the server, and a link to a page whose data the server has. Each version calls all otherwise.

/** A version of an app, as the words in it. */
export type Version = 'one' | 'two';

/** An app and what is added to it. */
export interface SkewApp {
  /** Its folder in `test/frameworks/apps/`. */
  readonly app: string;
  readonly title: string;
  /** Files of a version. */
  readonly files: (version: Version) => Readonly<Record<string, string>>;
}

export const skewApps: readonly SkewApp[] = [
  {
    app: 'sveltekit',
    title: 'SvelteKit, in an isolate',
    files: (version) => ({
      'src/lib/later.js': `export const words = 'script of version ${version}';\n`,
      'src/routes/api/version/+server.js': `export const GET = () => new Response('${version}');\n`,
      'src/routes/skew/+page.server.js': `
export const load = () => ({ words: 'page of version ${version}' });
export const actions = { say_${version}: () => ({ words: 'function of version ${version}' }) };
`,
      'src/routes/skew/+page.svelte': `
<script>
  import { enhance } from '$app/forms';
  let { data, form } = $props();
  let script = $state('');
  const load = async () => (script = (await import('$lib/later.js')).words);
</script>
<h1>{data.words}</h1>
<button onclick={load}>Load</button><p>{script}</p>
<form method="post" action="?/say_${version}" use:enhance><button>Call</button></form><p>{form?.words ?? ''}</p>
<a href="/skew/next">Next</a>
`,
      'src/routes/skew/next/+page.server.js': `export const load = () => ({ words: 'data of version ${version}' });\n`,
      'src/routes/skew/next/+page.svelte': `
<script>
  let { data } = $props();
</script>
<h1>next page of version ${version}</h1><p>{data.words}</p>
`,
    }),
  },
  {
    app: 'next-standalone',
    title: 'Next.js, as a server for Node',
    files: (version) => ({
      'app/api/version/route.js': `
export const dynamic = 'force-dynamic';
export const GET = () => new Response('${version}');
`,
      'app/skew/later.js': `export const words = 'script of version ${version}';\n`,
      'app/skew/actions.js': `'use server';
export async function say_${version}() {
  return 'function of version ${version}';
}
`,
      'app/skew/buttons.jsx': `'use client';
import { useState } from 'react';
import { say_${version} } from './actions';

export function Buttons() {
  const [script, setScript] = useState('');
  const [said, setSaid] = useState('');
  return (
    <>
      <button onClick={async () => setScript((await import('./later')).words)}>Load</button><p>{script}</p>
      <button onClick={async () => setSaid(await say_${version}())}>Call</button><p>{said}</p>
    </>
  );
}
`,
      'app/skew/page.jsx': `
import Link from 'next/link';
import { connection } from 'next/server';
import { Buttons } from './buttons';

export default async function Page() {
  await connection();
  return (
    <main>
      <h1>page of version ${version}</h1>
      <Buttons />
      <Link href="/skew/next" prefetch={false}>Next</Link>
    </main>
  );
}
`,
      'app/skew/next/page.jsx': `
import { connection } from 'next/server';

export default async function Page() {
  await connection();
  return <main><h1>next page of version ${version}</h1><p>data of version ${version}</p></main>;
}
`,
    }),
  },
];
