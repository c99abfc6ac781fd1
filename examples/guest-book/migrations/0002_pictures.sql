-- Set once the picture has been uploaded.
ALTER TABLE entries ADD picture TEXT;
