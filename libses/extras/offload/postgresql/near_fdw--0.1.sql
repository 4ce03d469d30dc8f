CREATE FUNCTION near_fdw_handler() RETURNS fdw_handler AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FUNCTION near_fdw_validator(text[], oid) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE FOREIGN DATA WRAPPER near_fdw HANDLER near_fdw_handler VALIDATOR near_fdw_validator;
