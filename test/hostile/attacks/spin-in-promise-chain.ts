// Promises that make promises, without an await.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`const again = () => Promise.resolve().then(again); return again();`);
