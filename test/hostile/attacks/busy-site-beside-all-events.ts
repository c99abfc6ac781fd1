// The same where the site's own requests take some 15 ms of CPU each, so that they lose their places now and then.
import { eventKinds } from '#test/setup/events.ts';
import { eventsAgainstOwnSite } from '#test/setup/hostile-events.ts';

export default eventsAgainstOwnSite(
  eventKinds,
  'for (;;);',
  'cpu_limit_exceeded',
  'cpu',
  {},
  'let x = 1; for (let left = 3_000_000; left > 0; left--) x = (x * 48271) % 2147483647; if (x === 0) return;',
);
