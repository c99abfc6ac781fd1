// Calls of the host that a thread waits for, over and over: the host's work counts too.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const { pbkdf2Sync } = await import('node:crypto'); for (;;) pbkdf2Sync('x', 'y', 100_000, 64, 'sha512');`,
);
