// What a view is: it draws itself into the page for one binding, and ends with its signal.
import type { Followed } from '../activity.ts';
import type { Stage } from '../components/live.ts';

/** What a view gets. */
export interface Place extends Stage {
  /** Name of the binding; empty where there is none. */
  readonly binding: string;
  readonly activity: Followed;
}

export type View = (place: Place) => void;

/** `/api/config`. */
export interface Configuration {
  readonly name: string;
  readonly url: string;
  readonly ready: boolean;
  readonly deployment?: string;
  readonly kind?: string;
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
  readonly bindings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly cron?: Readonly<Record<string, { readonly schedule: string; readonly timezone: string }>>;
  readonly variables?: readonly string[];
  readonly assets?: { readonly binding: string | null; readonly files: number } | null;
  readonly config?: unknown;
}
