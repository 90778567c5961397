/**
 * The bytes of files, and what names them. Whoever changes either locks the row of the tenant's total first, so that the bytes are
 * not removed while somebody is about to name them.
 */
export const statements: ReadonlyArray<string> = [
  `CREATE TABLE troupe.blob_totals (
    tenant text PRIMARY KEY,
    bytes int8 NOT NULL
  )`,
  // How much of its tenant's room for files each customer takes. The customer '' stands for all of them together.
  `CREATE TABLE troupe.blob_shares (
    tenant text NOT NULL,
    customer text NOT NULL,
    bytes int8 NOT NULL,
    PRIMARY KEY (customer, tenant)
  )`,
  `CREATE TABLE troupe.blobs (
    tenant text NOT NULL,
    -- SHA-256 of the bytes, in hex.
    digest text NOT NULL,
    size int8 NOT NULL,
    bytes bytea NOT NULL,
    -- The SHA-256 of the id of the customer that brought the file, in hex. Null = it counts for the tenant alone.
    charged_to text,
    PRIMARY KEY (digest, tenant)
  )`,
  // Pictures and audio are compressed already, and a piece of bytes that are not is read without the rest.
  `ALTER TABLE troupe.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  `CREATE TABLE troupe.blob_uses (
    tenant text NOT NULL,
    digest text NOT NULL,
    -- An uploader as a JSON string, or the run and what of it names the file.
    holder text NOT NULL,
    run uuid,
    conversation text,
    held_as text NOT NULL,
    media_type text NOT NULL,
    name text,
    at int8 NOT NULL,
    -- An upload, or a run that may not have been accepted.
    unsure boolean NOT NULL DEFAULT true,
    PRIMARY KEY (digest, holder, tenant),
    FOREIGN KEY (digest, tenant) REFERENCES troupe.blobs (digest, tenant)
  )`,
  // What is looked at by the collection.
  `CREATE INDEX blob_uses_unsure ON troupe.blob_uses (at) WHERE unsure`,
  // The files of a run, for its erasure.
  `CREATE INDEX blob_uses_run ON troupe.blob_uses (run) WHERE run IS NOT NULL`
]
