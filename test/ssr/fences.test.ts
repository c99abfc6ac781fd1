// The programs that make namespaces: bubblewrap, and both where the platform is root and has no user id for what it
// fences. Of another user there is one way only.
import { fenceSuite, WAY_HERE } from '#test/contract/fence.ts';

await fenceSuite('bwrap', WAY_HERE);
if (process.getuid?.() === 0)
  for (const program of ['own', 'bwrap'] as const) await fenceSuite(program, "as the platform's user");
