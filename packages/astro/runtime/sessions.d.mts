/** A driver of Astro's sessions. */
export interface SessionDriver {
  readonly name: string;
  getItem(key: string): Promise<string | null>;
  setItem(key: string, value: string): Promise<void>;
  removeItem(key: string): Promise<void>;
  hasItem(key: string): Promise<boolean>;
  getKeys(): readonly string[];
}

export default function sessions(): SessionDriver;
