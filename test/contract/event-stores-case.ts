// What the cases of the event stores' contract are written with: times, places, and the shape of a case. Used by
// event-stores.ts and the files of its chapters, event-stores-*.ts.
import type { DeliveryLimits } from '#core/limits.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';

export const T0 = 1_700_000_000_000;
export const DAY = 86_400_000;
export const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
export const owner = { project: 'shop', branch: 'main', deployment: 'd000000000001' };

/** One case over fresh stores: a fact, and how it is shown. */
export type Fact = (
  title: string,
  run: (stores: EventStores) => Promise<void>,
  limits?: Partial<DeliveryLimits>,
) => void;
