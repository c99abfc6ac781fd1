// The programs that make namespaces, where the platform has no user id for what it fences although it is root.
import { test } from 'node:test';
import { fenceSuites } from '#test/contract/fence.ts';

if (process.getuid?.() === 0) await fenceSuites("as the platform's user");
else
  test(
    'the suite of fences',
    { skip: 'of another user than root there is one way: test/contract/fence.test.ts' },
    () => {},
  );
