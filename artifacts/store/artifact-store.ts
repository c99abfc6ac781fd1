// Where artifacts are stored for all machines. Engines read artifacts from the data folder of their machine. Drivers:
// artifact-store-disk.ts for one machine, artifact-store-s3.ts for several. test/contract/ tests their common behavior.

/** Artifacts by their ids. An id is the hash of the content, so every call can be repeated. */
export interface ArtifactStore {
  /**
   * Whether machines share artifacts through this store. If false, the data folder is the store, and other machines
   * mount it.
   */
  readonly isShared: boolean;
  /**
   * Copies an artifact to the data folder, unless the folder already has it. Hashes are checked, and a failure leaves
   * no files behind.
   *
   * @throws {Failure} `artifact_store`
   */
  fetch(id: string): Promise<void>;
  /**
   * Stores an artifact.
   *
   * @param folder the artifact's location; by default, it is in the data folder.
   * @throws {Failure} `artifact_store`
   */
  upload(id: string, folder?: string): Promise<void>;
  /**
   * Deletes an artifact from the store; succeeds also if the artifact does not exist. @throws {Failure}
   * `artifact_store`
   */
  remove(id: string): Promise<void>;
  /** When each artifact was stored, in milliseconds since 1970. @throws {Failure} `artifact_store` */
  list(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}
