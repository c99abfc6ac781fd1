// Error.prepareStackTrace, which runs when the platform reads a stack.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`Error.prepareStackTrace = () => { for (;;); }; throw new Error('x');`);
