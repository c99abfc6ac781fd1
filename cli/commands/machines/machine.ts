// A machine, as the management API describes it. Used by the commands in this folder.

export interface Machine {
  readonly name: string;
  readonly status: 'up' | 'draining' | 'drained' | 'lost';
  readonly upstream: string | null;
  readonly privateOrigin: string | null;
  readonly parts: readonly string[];
  readonly version: string;
  readonly memoryBytes: number;
  readonly memoryFreeBytes: number;
  readonly diskBytes: number;
  readonly diskFreeBytes: number;
  readonly announcedAt: string;
  readonly seenAt: string;
}
