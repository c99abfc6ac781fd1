// A chain of microtasks without end.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`for (;;) await null;`);
