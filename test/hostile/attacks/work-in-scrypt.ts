// Passwords hashed one after the other while the worker's thread waits.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const { scryptSync } = await import('node:crypto'); for (;;) scryptSync('x', 'y', 64, { N: 16384, r: 8, p: 1 });`,
);
