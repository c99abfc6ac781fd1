// Where artifacts are stored for all machines, beside the folder of each that engines read them from. Drivers:
// artifact-store-disk.ts for one machine, artifact-store-s3.ts for several. test/contract/ has what both keep to.

/** Artifacts by their ids. An id is the hash of the content, so that every call may be repeated. */
export interface ArtifactStore {
  /**
   * Whether machines share artifacts by it. False: the data folder is the store, and other machines that need it mount
   * it.
   */
  readonly isShared: boolean;
  /**
   * Brings an artifact into the data folder, unless it is there; its hashes are checked, and nothing partial is left.
   *
   * @throws {Failure} `artifact_store`
   */
  fetch(id: string): Promise<void>;
  /**
   * Stores an artifact.
   *
   * @param folder where it is; default: in the data folder.
   * @throws {Failure} `artifact_store`
   */
  upload(id: string, folder?: string): Promise<void>;
  /** Deletes an artifact from the store; on success also if there is none. @throws {Failure} `artifact_store` */
  remove(id: string): Promise<void>;
  /** When each artifact was stored, in milliseconds since 1970. @throws {Failure} `artifact_store` */
  list(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}
