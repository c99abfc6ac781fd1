// A thrown object whose message is a getter.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`throw { get message() { for (;;); } };`);
