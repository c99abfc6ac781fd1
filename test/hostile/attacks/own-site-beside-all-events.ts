// Events of all kinds that spin at once, after an await and so between entries, beside requests to the same deployment.
import { eventKinds } from '#test/setup/events.ts';
import { eventsAgainstOwnSite } from '#test/setup/hostile-events.ts';

export default eventsAgainstOwnSite(eventKinds, 'await scheduler.wait(1); for (;;);', 'cpu_limit_exceeded');
